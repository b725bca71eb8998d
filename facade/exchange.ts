import { bytesToHex } from 'viem/utils';
import { requireDelegate } from '../core/access/agent-status.js';
import type { AgentCaller } from '../core/access/caller.js';
import type { ActionProof, KeptAction } from '../core/ports/stores/signers.js';
import { GatewayError, type ErrorCode, retryAfterSeconds } from '../core/errors.js';
import type { Gateway, Venue } from '../core/gateway.js';
import type { ActionRow } from './actions/action-row.js';
import { ACTIONS } from './actions/index.js';
import { countedItems, isTradeType, itemsOf, opensRisk, type TradeAction, type TradeContext, type TradeHandlers } from './actions/trade.js';
import { admitAction, findSigner, refusalOf, traderCaller, type OnCounted, type Weight, weighAction } from './admit-action.js';
import { diagnose } from './doctor.js';
import { readEnvelope, type Envelope, asSentOnly, decodeAction, type Decoded } from './signing/read-body.js';
import { createUserSignedExchange } from './exchange-user-signed.js';
import { DONE, notDelegatedText, refused, TEXTS, type ExchangeReply } from './reply.js';
import { UnpackableError, createRecoverSigners, type SignerCandidate } from './signing/l1-signature.js';
import { writeOrderedJson, type Json, readOrderedJson, type JsonObject } from './signing/ordered-json.js';
import type { Window } from '../core/access/limits.js';
import { JSON_TYPE, type Answer, type Endpoint } from './endpoint.js';

/** A parsed body with the client's address. */
export interface ExchangeRequest {
  readonly json: Json;
  /** The client's network address. */
  readonly from: string;
  readonly onCounted?: OnCounted;
}

/** Answers one action. Throws errors of the catalogue if Hyperliquid has no reply for them. */
export type Exchange = (venue: Venue, request: ExchangeRequest) => Promise<ExchangeReply>;

const MAX_ITEMS = 200;
/** This many items weigh as much as one more request. */
const ITEMS_PER_WEIGHT = 40;

/** Errors that are not the action's fault: returned as they are, so that clients retry. */
const OUTAGES: ReadonlySet<ErrorCode> = new Set(['RATE_LIMITED', 'INTERNAL', 'UPSTREAM_UNAVAILABLE', 'NOT_READY', 'CHAIN_READ_ONLY']);

const ignore: OnCounted = () => undefined;

type L1Row = Extract<ActionRow, { scheme: 'l1' }>;

/** `trade` is null without a relayer: the facade is read-only then. */
export function createExchange(gateway: Gateway, trade: TradeHandlers | null): Exchange {
  const recoverSigners = createRecoverSigners(gateway.access.crypto);
  const userSigned = createUserSignedExchange(gateway);

  const l1 = async (venue: Venue, row: L1Row, envelope: Envelope, request: ExchangeRequest): Promise<ExchangeReply> => {
    const decoded: Decoded<unknown> =
      row.schema === 'any' ? { action: envelope.action, forms: asSentOnly(envelope.action) } : decodeAction(row.schema, envelope.action);
    const candidates = await packable(() => recoverSigners(decoded.forms, envelope, envelope.signature));
    if (candidates.length === 0) return refused(TEXTS.unrecoverable);
    const call: L1Call = { venue, row, envelope, decoded, candidates, from: request.from };
    const refusal = refusalOf(gateway, venue, envelope) ?? ownRefusal(call);
    if (refusal !== null) return replyToKnownSigner(call, () => (typeof refusal === 'string' ? refused(refusal) : refusal));
    return row.verdict.kind === 'trade' && trade === null ? replyToKnownSigner(call, () => refuseReadOnly(venue)) : act(call, request);
  };

  /** Only known signers get the result; nothing is counted and no nonce is used. */
  const replyToKnownSigner = async (call: L1Call, say: () => ExchangeReply): Promise<ExchangeReply> =>
    (await findSigner(gateway, call.venue, addressesOf(call))) === null ? unknownSigner(call) : say();

  const act = async (call: L1Call, { onCounted = ignore }: ExchangeRequest): Promise<ExchangeReply> => {
    const { venue, row, envelope, decoded } = call;
    const proof = row.verdict.kind === 'trade' ? proofOf(call) : undefined;
    const admission = await admitAction(gateway, venue, {
      candidates: addressesOf(call),
      nonce: envelope.nonce,
      weight: weightOf(row, decoded.action),
      onCounted,
      ...(proof && { proof }),
    });
    if (admission.kind === 'refused') return refused(admission.text);
    if (admission.kind === 'unknown-signer') return row.verdict.kind === 'no-op' ? DONE : unknownSigner(call);
    const { agent, kept } = admission;
    if (row.verdict.kind !== 'trade' || trade === null) return DONE;
    return settle(async () => {
      const caller = await traderCaller(venue, agent, kept?.wallet);
      return runTrade(trade, { gateway, venue, caller, ...(kept ?? (await keepFirst(call, caller))) }, decoded.action);
    });
  };

  /** Stores the first action of a trader for whom nothing was sent yet. */
  const keepFirst = async (call: L1Call, caller: AgentCaller): Promise<KeptAction> => {
    const { venue, envelope } = call;
    await requireDelegate(venue, caller);
    const { slug: chain } = venue.definition;
    const kept = await gateway.store.signers.keep({
      chain,
      candidates: addressesOf(call),
      nonce: envelope.nonce,
      proof: proofOf(call),
    });
    if (kept === null) throw new Error('the agent of an action is gone');
    return kept;
  };

  /** The text clients know, followed by a diagnosis for the first few actions of an address in a minute. */
  const unknownSigner = async (call: L1Call): Promise<ExchangeReply> => {
    const [first] = call.candidates;
    const text = TEXTS.unknownSigner(first?.signer ?? '');
    if (!gateway.access.mayBeExplained(call.from)) return refused(text);
    const said = await diagnose(gateway, call.venue, {
      canonical: call.decoded.forms[0]?.json ?? null,
      extras: call.envelope,
      signature: call.envelope.signature,
      candidates: addressesOf(call),
    });
    return refused(`${text} ${said}`);
  };

  return async (venue, request) => {
    const envelope = readEnvelope(request.json);
    const row = ACTIONS.get(envelope.type);
    if (row === undefined) throw new GatewayError('UNSUPPORTED', { reason: unknownAction(envelope.type) });
    if (venue.relayer === null) return refuseReadOnly(venue);
    const byType = row.byType?.(envelope.action) ?? null;
    if (byType !== null) return refused(byType);
    return row.scheme === 'l1'
      ? l1(venue, row, envelope, request)
      : packable(() => userSigned(venue, row, { envelope, onCounted: request.onCounted ?? ignore }));
  };
}

interface L1Call {
  readonly venue: Venue;
  readonly row: L1Row;
  readonly envelope: Envelope;
  readonly decoded: Decoded<unknown>;
  readonly candidates: readonly SignerCandidate[];
  readonly from: string;
}

function refuseReadOnly({ definition }: Venue): never {
  throw new GatewayError('CHAIN_READ_ONLY', { chain: definition.slug });
}

const unknownAction = (type: string): string =>
  `Failed to deserialize the JSON body into the target type: there is no action "${type.slice(0, 64)}".`;

const addressesOf = ({ candidates }: L1Call): SignerCandidate['signer'][] => candidates.map(({ signer }) => signer);

/** The refusal that applies to every signer. */
function ownRefusal({ row: { verdict }, decoded: { action } }: L1Call): ExchangeReply | string | null {
  if (verdict.kind === 'refused') return verdict.text;
  if (verdict.kind === 'refused-status')
    return { status: 'ok', response: { type: verdict.type, data: { status: { error: verdict.text } } } };
  if (verdict.kind === 'no-op') return verdict.refusal?.(action) ?? null;
  return verdict.kind === 'trade' && itemsOf(action as TradeAction) > MAX_ITEMS ? TEXTS.overWeight : null;
}

function weightOf({ verdict }: L1Row, action: unknown): Weight {
  if (verdict.kind !== 'trade') return { scope: 'agent', weight: 1, items: 0 };
  const trade = action as TradeAction;
  return {
    scope: opensRisk(trade) ? 'agent-writes' : 'agent',
    weight: 1 + Math.floor(itemsOf(trade) / ITEMS_PER_WEIGHT),
    items: countedItems(trade),
  };
}

const proofOf = ({ venue, candidates, envelope }: L1Call): ActionProof => ({
  envelope: writeOrderedJson(envelope.kept),
  receivedAt: venue.clock.now(),
  readings: candidates.map(({ actionHash, form, network }) => ({ actionHash: bytesToHex(actionHash), form, network })),
});

/** The row's schema decoded the action, so its type names its handler. */
function runTrade(handlers: TradeHandlers, context: TradeContext, action: unknown): Promise<ExchangeReply> {
  const { type } = action as TradeAction;
  if (!isTradeType(type)) throw new TypeError(`${String(type)} does not trade.`);
  const handle = handlers[type] as (context: TradeContext, action: unknown) => Promise<ExchangeReply>;
  return handle(context, action);
}

const isRefusal = (error: unknown): error is GatewayError => error instanceof GatewayError && !OUTAGES.has((error as GatewayError).code);

/** Turns errors of the catalogue into refusals that clients understand. */
async function settle(work: () => Promise<ExchangeReply>): Promise<ExchangeReply> {
  try {
    return await work();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    if (error.code !== 'AGENT_NOT_DELEGATED') return refused(error.message);
    const { details } = error as GatewayError<'AGENT_NOT_DELEGATED'>;
    return { status: 'err', response: notDelegatedText(details), delegationTx: details.delegationTx };
  }
}

/** An action that MessagePack cannot encode fits no schema either. */
async function packable<Result>(work: () => Promise<Result> | Result): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UnpackableError)) throw error;
    throw new GatewayError('VALIDATION_ERROR', { issues: [{ path: 'action', message: `holds ${error.message}` }] }, { cause: error });
  }
}

/** The status for JSON that fits no schema, as opposed to input that is not JSON. */
const FITS_NO_SCHEMA = 422;

/** `POST /hl/{chain}/exchange`. */
export function createExchangeHandler(gateway: Gateway, trade: TradeHandlers | null): Endpoint {
  const exchange = createExchange(gateway, trade);
  return {
    refuse: (error) => answerError(error),
    async answer({ venue, bytes, client: { address } }) {
      const windows: Window[] = [weighAction(gateway, address, bytes.length)];
      const json = readOrderedJson(bytes);
      const operation = actionIn(json);
      try {
        const reply = await exchange(venue, { json, from: address, onCounted: (window) => windows.push(window) });
        gateway.metrics.action(operation, reply.status);
        return { status: 200, type: JSON_TYPE, body: JSON.stringify(reply), operation, windows };
      } catch (error) {
        if (!isGatewayError(error)) throw error;
        return { ...answerError(error, error.code === 'VALIDATION_ERROR' ? FITS_NO_SCHEMA : error.status), operation, windows };
      }
    },
  };
}

/** The action's name from our own table: names made up by clients get no metric of their own. */
export function actionIn(json: Json): string {
  const action = json instanceof Map ? (json as JsonObject).get('action') : undefined;
  const type = action instanceof Map ? (action as JsonObject).get('type') : undefined;
  return typeof type === 'string' && ACTIONS.has(type) ? type : 'exchange';
}

const isGatewayError = (error: unknown): error is GatewayError => error instanceof GatewayError;

/** The service's own error, with the fields that Hyperliquid clients look for. */
function answerError(error: GatewayError, status: number = error.status): Answer {
  const { code, message, details } = error;
  const shown = Object.keys(details).length > 0 ? { details } : {};
  const wait = retryAfterSeconds(error);
  const headers = wait === null ? {} : { 'Retry-After': String(wait) };
  return { status, type: JSON_TYPE, body: JSON.stringify({ code, message, ...shown, msg: message, data: null }), headers };
}

/** One client and its flows, each with whether its test passed when the report was written. */
export interface ClientReport {
  readonly client: string;
  readonly version: string;
  readonly flows: readonly { readonly flow: string; readonly isPassed: boolean }[];
}

/** `GET /hl/{chain}/compat`: the clients tested against this version, and their results. */
export function createCompatEndpoint(report: readonly ClientReport[]): Endpoint {
  const body = Buffer.from(JSON.stringify({ clients: report }));
  return { method: 'GET', answer: () => ({ status: 200, type: JSON_TYPE, body }), refuse: (error) => answerError(error) };
}
