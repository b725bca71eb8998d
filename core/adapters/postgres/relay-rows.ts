import type { ChainSlug } from '../../chains/chains.js';
import type { Address, Hex } from '../../types.js';
import type {
  Attempt,
  Mined,
  NewAttempt,
  RelayJob,
  RelayPurpose,
  RelayRequest,
  RelayState,
  Settled,
  SignedAction,
  LaneHealth,
} from '../../ports/stores/relay.js';
import { decodeExact, encodeExact } from './statement.js';
import type { Values } from './statement.js';

export interface JobRow {
  id: bigint;
  chain: ChainSlug;
  wallet: Address;
  trader: Address | null;
  purpose: RelayPurpose;
  parent: bigint | null;
  order_id: bigint | null;
  data: Hex;
  gas: string;
  context: string;
  not_after: bigint | null;
  state: RelayState;
  nonce: bigint | null;
  attempts: string;
  note: string | null;
  created_at: bigint;
  accepted_at: bigint | null;
  mined: string | null;
}

/** JSON columns are read as text, because the driver's JSON parser would lose bigints. */
export const JOB_COLUMNS =
  'id, chain, wallet, trader, purpose, parent, order_id, data, gas::text, context::text, not_after, state, nonce, attempts::text, note, created_at, accepted_at, mined::text';

export const readJob = (row: JobRow): RelayJob => ({
  id: row.id,
  chain: row.chain,
  wallet: row.wallet,
  trader: row.trader,
  purpose: row.purpose,
  parent: row.parent,
  orderId: row.order_id,
  data: row.data,
  gas: BigInt(row.gas),
  // Decoded lazily: only the signing policy reads it, not the many later steps.
  get context() {
    return decodeExact(row.context);
  },
  notAfter: row.not_after === null ? null : Number(row.not_after),
  state: row.state,
  nonce: row.nonce === null ? null : Number(row.nonce),
  attempts: decodeExact(row.attempts) as Attempt[],
  note: row.note,
  createdAt: Number(row.created_at),
  acceptedAt: row.accepted_at === null ? null : Number(row.accepted_at),
  mined: row.mined === null ? null : (decodeExact(row.mined) as Mined),
});

/** Each attempt as a list of one, to be appended to the job's list. */
export const writeAttempts = (attempts: readonly NewAttempt[]): string =>
  encodeExact(attempts.map(({ id, attempt }) => ({ id: id.toString(), hash: attempt.hash, attempt: [attempt] })));
export const writeSettled = (settled: readonly Settled[]): string =>
  encodeExact(settled.map(({ id, state, mined }) => ({ id: id.toString(), state, mined, block: mined.blockNumber.toString() })));

export interface LaneRow {
  next_nonce: bigint | null;
  blocked_since: bigint | null;
  blocked_reason: string | null;
  jobs: bigint;
  oldest: bigint | null;
}

const numberOf = (value: bigint | null | undefined): number | null => (value === null || value === undefined ? null : Number(value));

export const readLane = (wallet: Address, row: LaneRow | undefined): LaneHealth => ({
  wallet,
  state: row?.blocked_since == null ? 'ok' : 'blocked',
  since: numberOf(row?.blocked_since),
  reason: row?.blocked_reason ?? null,
  openJobs: Number(row?.jobs ?? 0),
  oldestOpenAt: numberOf(row?.oldest),
  nextNonce: row?.next_nonce == null || row.next_nonce < 0n ? null : Number(row.next_nonce),
});

export interface ActionRow {
  id: bigint;
  chain: ChainSlug;
  signer: Address;
  trader: Address;
  envelope: string;
  action_hash: Hex;
  form: SignedAction['form'];
  network: SignedAction['network'];
  nonce: string;
  received_at: bigint;
  approval: string | null;
}

export const ACTION_COLUMNS =
  'id, chain, signer, trader, envelope, action_hash, form, network, nonce::text, received_at,\n  (select approval.envelope from agent_approvals approval where approval.chain = relay_actions.chain and approval.agent = relay_actions.signer) as approval';

export const readAction = ({ action_hash, received_at, nonce, ...row }: ActionRow): SignedAction => ({
  ...row,
  actionHash: action_hash,
  nonce: BigInt(nonce),
  receivedAt: Number(received_at),
});

/** The values of `QUEUE`. */
export const queueValues = ({ gas, context, ...request }: RelayRequest, at: number): Values => ({
  ...request,
  gas: gas.toString(),
  context: encodeExact(context),
  at,
});
