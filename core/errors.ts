/** The only catalogue: code → HTTP status, sentence, shape of `details`. The compiler checks throw sites against it. */

export interface TransactionRequest {
  to: string;
  data: string;
  chainId: number;
}

export interface Issue {
  path: string;
  message: string;
}

interface Entry<Details> {
  status: number;
  text: (details: Details) => string;
}

const entry = <Details>(status: number, text: (details: Details) => string): Entry<Details> => ({ status, text });
const plain = (status: number, sentence: string): Entry<Record<string, unknown>> => entry(status, () => sentence);

export const LIMIT_SCOPES = ['ip', 'agent', 'agent-writes'] as const;
export type LimitScope = (typeof LIMIT_SCOPES)[number];

export const CATALOGUE = {
  VALIDATION_ERROR: entry(
    400,
    /** `cursorLost`: commits were lost. Entries that are left go on behind `resumeAfter`. */
    (d: { issues: Issue[]; cursorLost?: true; resumeAfter?: number }) =>
      `The request does not match its schema: ${d.issues.map(describeIssue).join('; ')}.`,
  ),

  UNAUTHENTICATED: entry(401, (d: Record<string, unknown>) =>
    d['scheme'] === 'Bearer'
      ? "This endpoint needs the operator's token, as Authorization: Bearer <token>."
      : 'This endpoint needs the signature headers of an agent, or an API key where one is accepted.',
  ),
  INVALID_SIGNATURE: plain(
    401,
    'The signature is not one of the named signer: sign exactly what is sent, with the domain, chain id and fields that GET /v1/{chain} lists as signing.',
  ),
  TIMESTAMP_OUT_OF_WINDOW: entry(
    401,
    (d: { timestamp: number; serverTime: number; windowMs: number }) =>
      `The timestamp ${describeClockGap(d.timestamp, d.serverTime)} At most ${d.windowMs / 1000} s are accepted.`,
  ),
  /** `signedAfter`: commits were lost, and what was signed up to then may be a repeat. */
  NONCE_REUSED: entry(401, (d: { nonce: string; lastAccepted?: string; signedAfter?: number }) => {
    if (d.signedAfter !== undefined)
      return `${d.nonce} may be a repeat from before commits were lost: sign again, with a time above ${d.signedAfter}.`;
    return d.lastAccepted === undefined
      ? `The nonce ${d.nonce} was used before.`
      : `${d.nonce} is not above ${d.lastAccepted}, accepted before.`;
  }),
  AGENT_UNKNOWN: entry(
    401,
    (d: { agent: string }) =>
      `No agent ${d.agent} is registered on this chain: let the trader sign an AgentAuthorization for it and send that to POST /v1/{chain}/agents.`,
  ),
  API_KEY_UNKNOWN: plain(401, 'The API key is not known on this chain.'),

  AGENT_NOT_DELEGATED: entry(
    403,
    (d: { trader: string; agent: string; delegate: string | null; delegationTx: TransactionRequest }) =>
      `The trading delegate of ${d.trader} is ${d.delegate ?? 'not set'}; the trader has to send details.delegationTx first.`,
  ),
  AGENT_EXPIRED: entry(403, (d: { agent: string; expiresAt: number }) => `The authorisation of ${d.agent} expired at ${d.expiresAt}.`),
  AGENT_REVOKED: entry(403, (d: { agent: string }) => `The agent ${d.agent} was revoked.`),
  SCOPE_READ_ONLY: entry(403, (d: { agent: string }) => `The agent ${d.agent} may read only.`),
  SCOPE_MARKET_NOT_ALLOWED: entry(403, (d: { market: string }) => `The agent's scope does not include ${d.market}.`),
  SCOPE_LEVERAGE_EXCEEDED: entry(
    403,
    (d: { leverage: string; maxLeverage: string }) => `Leverage ${d.leverage} is above the agent's ${d.maxLeverage}.`,
  ),
  SCOPE_SPEND_CAP_EXCEEDED: entry(
    403,
    (d: { requestedUsd: string; spentUsd: string; capUsd: string }) =>
      `${d.requestedUsd} USD on top of today's ${d.spentUsd} would pass the agent's daily cap of ${d.capUsd}.`,
  ),
  TRADER_MISMATCH: entry(403, (d: { address: string }) => `The credentials do not belong to ${d.address}.`),

  CHAIN_NOT_FOUND: entry(404, (d: { chain: string; available: readonly string[] }) =>
    d.chain === ''
      ? `The URL names no chain; served: ${d.available.join(', ')}. A base URL ends with the chain: /v1/{chain}, /hl/{chain}.`
      : `There is no chain "${d.chain}" here; served: ${d.available.join(', ')}.`,
  ),
  MARKET_NOT_FOUND: entry(404, (d: { market: string }) => `There is no market ${d.market} on this chain.`),
  ORDER_NOT_FOUND: entry(404, (d: { id: string }) => `No order has the id ${d.id}.`),
  POSITION_NOT_FOUND: entry(404, (d: { id: string }) => `No open position has the id ${d.id}.`),
  AGENT_NOT_FOUND: entry(404, (d: { agent: string }) => `No agent ${d.agent} is registered on this chain.`),

  IDEMPOTENCY_CONFLICT: entry(
    409,
    (d: { clientId: string; id: string }) => `clientId ${d.clientId} already names order ${d.id}, which is different.`,
  ),
  ORDER_NOT_MODIFIABLE: entry(
    409,
    (d: { id: string | null; status: string; reclaimableAt?: number; changeableAt?: number; reason?: string }) =>
      `${d.id === null ? 'Another order on this position' : `Order ${d.id}`} is ${d.status}${d.reason === undefined ? '' : `: ${d.reason}`}${d.reclaimableAt === undefined ? '' : ` and can be reclaimed from ${d.reclaimableAt}`}${d.changeableAt === undefined ? '' : `; it can be changed again from ${d.changeableAt}`}.`,
  ),

  PRECISION_ERROR: entry(
    422,
    (d: { field: string; value: string; maxDecimals: number; nearest?: string }) =>
      `${d.field} ${d.value} has more than ${d.maxDecimals} decimals${d.nearest === undefined ? '' : `; the nearest legal value is ${d.nearest}`}.`,
  ),
  LEVERAGE_OUT_OF_RANGE: entry(
    422,
    (d: { leverage: string; min: string; max: string }) => `Leverage ${d.leverage} is outside ${d.min} to ${d.max}.`,
  ),
  SIZE_BELOW_MINIMUM: entry(
    422,
    (d: { collateralUsd: string; minCollateralUsd: string; leverage?: string; minNotionalUsd?: string }) =>
      `A collateral of ${d.collateralUsd} USD is below the market's ${d.minCollateralUsd}.`,
  ),
  MARKET_CLOSED: entry(422, (d: { market: string; session: string }) => `${d.market} is ${d.session}.`),
  COLLATERAL_NOT_SUPPORTED: entry(
    422,
    (d: { collateral: string; supported: readonly string[] }) =>
      `${d.collateral} is not a collateral here; supported: ${d.supported.join(', ')}.`,
  ),
  SIMULATION_REVERTED: entry(
    422,
    (d: {
      errorName: string;
      calldata: string;
      args?: readonly string[];
      /** `callback`: the request would be mined, but the oracle callback would reject it. */
      stage?: string;
      funds?: WalletFigures;
      approvalTx?: TransactionRequest;
    }) =>
      d.funds === undefined
        ? `The contracts would ${d.stage === 'callback' ? 'refuse the order' : 'revert'} with ${d.errorName}.`
        : describeFunds(d.funds, d.approvalTx !== undefined),
  ),
  SUBMISSION_MISMATCH: entry(422, (d: { txHash: string }) => `Transaction ${d.txHash} mined without creating an order of this trader.`),
  UNSUPPORTED: entry(422, (d: { reason: string }) => d.reason),

  RATE_LIMITED: entry(
    429,
    (d: { scope: LimitScope; retryAfterSeconds: number; reason?: string }) =>
      `${d.reason ?? `Too many requests for this ${d.scope}`}; retry in ${d.retryAfterSeconds} s.`,
  ),

  INTERNAL: entry(500, (d: { requestId: string }) => `Something broke on our side; report it with the request id ${d.requestId}.`),
  UPSTREAM_UNAVAILABLE: entry(502, (d: { upstream: string }) => `The ${d.upstream} behind the service did not answer; retry.`),
  /** `concerns`: what else than openings is served. `retryAfterSeconds`: where it is known when it will be. */
  NOT_READY: entry(
    503,
    (d: { reason: string; market?: string; concerns?: 'openings'; retryAfterSeconds?: number }) => `Not ready: ${d.reason}; retry.`,
  ),
  CHAIN_READ_ONLY: entry(
    503,
    (d: { chain: string }) => `No relayer serves the facade on ${d.chain}; native reads and writes are unaffected.`,
  ),
} as const;

/** Figures of a trader's wallet, as decimal strings. */
export interface WalletFigures {
  collateral: string;
  required: string;
  balance: string;
  allowance: string;
}

/** Wallets grant the largest number there is where no bound is meant; no supply of a token has as many digits. */
const UNBOUNDED_DIGITS = 25;
const isUnbounded = (allowance: string): boolean => allowance.replace(/\..*$/, '').length > UNBOUNDED_DIGITS;

/** `hasTransaction`: the approval stands beside the sentence. Without it the balance is what is short. */
function describeFunds({ collateral, required, balance, allowance }: WalletFigures, hasTransaction: boolean): string {
  const allowed = isUnbounded(allowance) ? 'any amount' : allowance;
  const facts = `${required} ${collateral} is needed; the trader holds ${balance} and lets the contracts take ${allowed}`;
  return hasTransaction
    ? `${facts}: the trader has to send details.approvalTx first.`
    : `${facts}: send ${collateral} to the trader, or order less.`;
}

const SECOND_MS = 1_000;
/** A time in seconds is read as one of January 1970. */
const looksLikeSeconds = (time: number, serverTime: number): boolean => Math.abs(time * SECOND_MS - serverTime) < serverTime / 2;

/** The rest of a sentence that begins with the name of the time: how far it is off, and what to do. */
export function describeClockGap(time: number, serverTime: number): string {
  if (looksLikeSeconds(time, serverTime)) return `${time} is in seconds: it has to be in milliseconds, now ${serverTime}.`;
  const gap = (Math.abs(serverTime - time) / SECOND_MS).toFixed(1);
  return `${time} is ${gap} s ${time < serverTime ? 'behind' : 'ahead of'} the server's clock, ${serverTime}: set the clock of the client.`;
}

function describeIssue(issue: Issue): string {
  return `${issue.path === '' ? 'body' : issue.path}: ${issue.message}`;
}

export type ErrorCode = keyof typeof CATALOGUE;
export type ErrorDetails<Code extends ErrorCode> = (typeof CATALOGUE)[Code] extends Entry<infer Details> ? Details : never;

/** An error for the caller. Anything else that is thrown becomes INTERNAL in the handler of each front end. */
export class GatewayError<Code extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'GatewayError';
  readonly code: Code;
  readonly details: ErrorDetails<Code>;
  readonly status: number;

  constructor(code: Code, details: ErrorDetails<Code>, options?: ErrorOptions) {
    const { status, text } = CATALOGUE[code] as Entry<ErrorDetails<Code>>;
    super(text(details), options);
    this.code = code;
    this.details = details;
    this.status = status;
  }
}

/** Outages of our own are over in seconds or last long; one second spreads retries. */
const OUTAGE_SECONDS = 1;

/** How long to wait before a retry; null where a retry does not help. */
export function retryAfterSeconds(error: GatewayError): number | null {
  if (error.code === 'RATE_LIMITED') return (error as GatewayError<'RATE_LIMITED'>).details.retryAfterSeconds;
  return error.code === 'NOT_READY' ? ((error as GatewayError<'NOT_READY'>).details.retryAfterSeconds ?? OUTAGE_SECONDS) : null;
}

/** Why the program cannot start: one sentence without secrets. The main program prints it and exits with 1. */
export class StartError extends Error {
  override readonly name: string = 'StartError';
}
