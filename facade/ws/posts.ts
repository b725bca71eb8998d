import { GatewayError } from '../../core/errors.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import { refuseExceeded } from '../../core/access/limits.js';
import type { OpenScope } from '../../core/observability/tracing.js';
import type { Peer } from '../../core/stream/connection.js';
import { ACTIONS } from '../actions/index.js';
import { actionIn, type Exchange } from '../exchange.js';
import { INFO_TYPES, type InfoHandler } from '../info/info-handler.js';
import { weighAction } from '../admit-action.js';
import { isObject, readOrderedJson, type Json } from '../signing/ordered-json.js';
import { errorText, postText, type ClientFrame, type PostResponse } from './frames.js';

export type Post = Extract<ClientFrame, { method: 'post' }>;

export interface PostHandlers {
  readonly info: InfoHandler;
  readonly exchange: Exchange;
}

export interface PostsOptions extends PostHandlers {
  readonly gateway: Gateway;
  readonly venue: Venue;
  readonly peer: Peer;
  readonly most: number;
  readonly say: (text: string) => void;
  /** Called if not even the error frame can be sent; it cannot throw. */
  readonly fail: (error: unknown) => void;
}

export interface Posts {
  /** `bytes` is the whole frame, because signatures depend on its exact text. */
  answer(post: Post, bytes: Uint8Array): void;
  /** Resolves when no request is pending. */
  settled(): Promise<void>;
}

/** The same status and text as over HTTP. */
const FITS_NO_SCHEMA = 422;
const UNFITTING = 'Failed to deserialize the JSON body into the target type';

/** Requests over the WebSocket: the same code as over HTTP, concurrent up to a limit, without blocking the connection. */
export function createPosts({ gateway, venue, peer, info, exchange, most, say, fail }: PostsOptions): Posts {
  const pending = new Set<Promise<void>>();

  const ask = async ({ payload }: Post): Promise<PostResponse> => {
    const answer = await info.ask(venue, payload, peer.address);
    return answer === null ? { type: 'error', payload: UNFITTING } : { type: 'info', payload: answer };
  };

  const act = async (bytes: Uint8Array): Promise<PostResponse> => {
    // The frame's length was counted before it was parsed.
    weighAction(gateway, peer.address, 0);
    const json = payloadOf(readOrderedJson(bytes));
    const reply = await exchange(venue, { json, from: peer.address });
    gateway.metrics.action(actionIn(json), reply.status);
    return { type: 'action', payload: reply };
  };

  /** The reply is serialised inside the try as well: one that cannot be serialised is a failed request, not a lost one. */
  const respond = async (post: Post, bytes: Uint8Array, scope: OpenScope | null): Promise<string> => {
    const since = gateway.clock.monotonic();
    const counted = (text: string, status: number): string => {
      const operation = operationOf(post);
      gateway.metrics.request('facade', operation, status, gateway.clock.monotonic() - since, 'ws');
      scope?.close(operation, status);
      return text;
    };
    try {
      refuseExceeded([gateway.access.countAddress(peer.address)]);
      const response = await (post.type === 'info' ? ask(post) : act(bytes));
      return counted(postText(post.id, response), response.type === 'error' ? FITS_NO_SCHEMA : 200);
    } catch (error) {
      const payload = wordsFor(error, { gateway, venue, peer });
      return counted(postText(post.id, { type: 'error', payload }), isKnown(error) ? error.status : 500);
    }
  };

  const followed = async (post: Post, bytes: Uint8Array): Promise<string> => {
    const scope = gateway.scopes?.open({ api: 'facade', transport: 'ws', method: 'POST' }) ?? null;
    return scope === null ? respond(post, bytes, null) : scope.run(peer.requestId, () => respond(post, bytes, scope));
  };

  return {
    answer(post, bytes) {
      if (pending.size >= most) return say(errorText(`too many pending post requests id=${post.id}`));
      const answered = followed(post, bytes)
        .then(say)
        .catch(fail)
        .finally(() => pending.delete(answered));
      pending.add(answered);
    },
    async settled() {
      while (pending.size > 0) await Promise.all(pending);
    },
  };
}

/** From our own tables, as over HTTP: names made up by clients get no metric of their own. */
function operationOf({ type, payload }: Post): string {
  const asked = type === 'info' ? payload : isRecord(payload) ? payload['action'] : null;
  const name = isRecord(asked) ? asked['type'] : null;
  if (type === 'info') return typeof name === 'string' && INFO_TYPES.has(name) ? name : 'info';
  return typeof name === 'string' && ACTIONS.has(name) ? name : 'exchange';
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;

function payloadOf(frame: Json): Json {
  const request = isObject(frame) ? frame.get('request') : undefined;
  return (isObject(request) ? request.get('payload') : undefined) ?? null;
}

const isKnown = (error: unknown): error is GatewayError => error instanceof GatewayError;

/** Errors of the catalogue pass; anything else is a fault of ours and is logged with the connection's request id. */
function wordsFor(error: unknown, { gateway, venue, peer }: Pick<PostsOptions, 'gateway' | 'venue' | 'peer'>): string {
  if (isKnown(error)) return error.code === 'VALIDATION_ERROR' ? `${UNFITTING}: ${error.message}` : error.message;
  const { requestId } = peer;
  gateway.log.error('facade.internal-error', { requestId, chain: venue.definition.slug, error });
  return new GatewayError('INTERNAL', { requestId }).message;
}
