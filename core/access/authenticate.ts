import { callerOf, requireActive, requireUnrevoked } from './agent-status.js';
import { isExpired, type Agent } from '../domain/agent.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { refuseExceeded, type Window } from './limits.js';
import type { Address } from '../types.js';
import type { Admitted } from './admission.js';
import { refuseRepeat, untilContinuityKnown } from './after-loss.js';
import { apiKeyHash, isKeyExpired } from './api-keys.js';
import type { AgentCaller, Caller, KeyCaller } from './caller.js';
import type { AgentCredentials, ReadHeader } from './credential-headers.js';
import { parseSignature, type RecoverableSignature } from './signature.js';

export const TIMESTAMP_WINDOW_MS = 30_000;
const NONCE_KEPT_MS = 2 * TIMESTAMP_WINDOW_MS;

/** A request with the settings of its operation. */
export interface IncomingRequest {
  readonly operationId: string;
  readonly method: string;
  readonly auth: 'none' | 'agent' | 'reader' | 'master' | 'optional';
  /** Whether it counts against the write limit. */
  readonly isWrite: boolean;
  /** Whether it needs the permission to trade; default: `isWrite`. */
  readonly trades?: boolean;
  /** The handler reads the delegate together with its simulation; see `requireDelegate`. */
  readonly simulates?: boolean;
  /** The unmodified path with query: Node's `url`, express's `originalUrl`. */
  readonly path: string;
  /** The received bytes. */
  readonly body: Uint8Array;
  /** By lower-case name. */
  readonly header: ReadHeader;
  /** Called as soon as the request is counted, so that an error after that carries the windows too. */
  readonly onCounted?: (windows: readonly Window[]) => void;
}

export type PrivateRequest = Omit<IncomingRequest, 'auth' | 'header'>;

export interface Authenticated<Who extends Caller | null = Caller | null> {
  readonly caller: Who;
  /** Rate windows of the credential; the address is counted by the HTTP layer. */
  readonly windows: readonly Window[];
}

const ANONYMOUS: Authenticated<null> = { caller: null, windows: [] };

/** Authenticates a request. Cheapest check first: presence, shape, timestamp, agent, signature, nonce, status, scope. */
export async function authenticate(gateway: Gateway, venue: Venue, request: IncomingRequest): Promise<Authenticated> {
  if (request.auth === 'none' || request.auth === 'master') return ANONYMOUS;
  const given = gateway.access.headers.read(request.header);
  if (given === null && request.auth === 'optional') return ANONYMOUS;
  const asked = request.auth === 'optional' ? { ...request, trades: false } : request;
  if (given?.kind === 'agent') return authenticateAgent(gateway, venue, asked, given.credentials);
  if (given?.kind === 'apiKey' && request.auth === 'reader') return authenticateKey(gateway, venue, request, given.apiKey);
  throw new GatewayError('UNAUTHENTICATED', {});
}

/** By signature; also used for WebSocket messages that carry credentials. */
export async function authenticateAgent(
  gateway: Gateway,
  venue: Venue,
  request: PrivateRequest,
  credentials: AgentCredentials,
): Promise<Authenticated<AgentCaller>> {
  const { agents, admission } = gateway.access;
  const { continuity } = gateway.store;
  const { timestamp, nonce } = credentials;
  const signature = readSignature(venue, credentials);
  const key = { chain: venue.definition.slug, agent: credentials.agent.toLowerCase() as Address };
  const known = await agents.find(key);
  if (known === null) throw new GatewayError('AGENT_UNKNOWN', { agent: credentials.agent });
  if (signerOf(gateway, venue, request, credentials, signature) !== key.agent) throw new GatewayError('INVALID_SIGNATURE', {});
  refuseRepeat(continuity.lastLoss(), timestamp, 'native', venue.clock.now());

  const entry = { chain: key.chain, credential: key.agent, nonce, keepUntil: timestamp + NONCE_KEPT_MS, isWrite: request.isWrite };
  const admitted = await admission.admit(entry);
  request.onCounted?.(admitted.windows);
  if (admitted.isFresh === false) throw new GatewayError('NONCE_REUSED', { nonce });
  refuseExceeded(admitted.windows);
  if (request.isWrite) {
    // The database that took the nonce may have forgotten that it took it before.
    await untilContinuityKnown(continuity, gateway.clock);
    refuseRepeat(continuity.lastLoss(), timestamp, 'native', venue.clock.now());
  }
  const agent = known.version === admitted.version ? known : await agents.refresh(key);
  if (agent === null) throw new GatewayError('AGENT_UNKNOWN', { agent: credentials.agent });
  const trades = request.trades ?? request.isWrite;
  if (trades) refuseRelayed(venue, agent);
  await (request.simulates === true ? requireUnrevoked(venue, agent) : requireActive(venue, agent));
  if (trades && agent.scope.permissions === 'read') throw new GatewayError('SCOPE_READ_ONLY', { agent: agent.agent });
  return { caller: await callerOf(venue, agent), windows: admitted.windows };
}

/** By a read-only key. It has no nonce, because the holder may repeat reads anyway. */
export async function authenticateKey(
  gateway: Gateway,
  venue: Venue,
  request: Pick<PrivateRequest, 'isWrite' | 'onCounted'>,
  apiKey: string,
): Promise<Authenticated<KeyCaller>> {
  const { apiKeys, admission } = gateway.access;
  const hash = apiKeyHash(apiKey);
  const chain = venue.definition.slug;
  const known = hash === null ? null : await apiKeys.find({ chain, hash });
  if (hash === null || known === null || isKeyExpired(known, venue.clock.now())) throw new GatewayError('API_KEY_UNKNOWN', {});
  const admitted: Admitted = await admission.admit({ chain, credential: hash, nonce: null, keepUntil: 0, isWrite: request.isWrite });
  request.onCounted?.(admitted.windows);
  refuseExceeded(admitted.windows);
  if (admitted.version === null) {
    await apiKeys.refresh({ chain, hash });
    throw new GatewayError('API_KEY_UNKNOWN', {});
  }
  return { caller: { via: 'apiKey', trader: known.trader, label: known.label }, windows: admitted.windows };
}

function readSignature({ clock }: Venue, credentials: AgentCredentials): RecoverableSignature {
  const signature = parseSignature(credentials.signature);
  if (signature === null) throw new GatewayError('INVALID_SIGNATURE', {});
  const { timestamp } = credentials;
  const serverTime = clock.now();
  if (Math.abs(serverTime - timestamp) > TIMESTAMP_WINDOW_MS)
    throw new GatewayError('TIMESTAMP_OUT_OF_WINDOW', { timestamp, serverTime, windowMs: TIMESTAMP_WINDOW_MS });
  return signature;
}

function signerOf(
  { access }: Gateway,
  { definition }: Venue,
  { operationId, method, path, body }: PrivateRequest,
  { timestamp, nonce }: AgentCredentials,
  signature: RecoverableSignature,
): Address | null {
  const digest = access.digest(definition, { operationId, method, path: asSent(path), body, timestamp, nonce });
  return access.crypto.recover(digest, signature);
}

/** Node decodes the request line as latin1; the client signed the UTF-8 text of the same bytes. */
function asSent(path: string): string {
  return /^[\x20-\x7e]*$/.test(path) ? path : new TextDecoder().decode(Uint8Array.from(path, (character) => character.charCodeAt(0)));
}

/** Facade agents may read here but trade only through the facade. Checked before the delegation, which does not matter for this error. */
function refuseRelayed({ definition, clock }: Venue, { agent, mode, scope, revokedAt }: Agent): void {
  if (mode === 'self' || revokedAt !== null || isExpired(scope, clock.now())) return;
  throw new GatewayError('UNSUPPORTED', { reason: `The agent ${agent} trades through the facade: send writes to /hl/${definition.slug}.` });
}
