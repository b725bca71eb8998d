import type { Address, Cancel } from '../../types.js';
import type { ChainSlug } from '../../chains/chains.js';

/**
 * Whether the database still has what it acknowledged. A standby that took over without the newest commits, or a backup that was put back,
 * has not: then orders that were sent, nonces that were used and ids that were given are missing.
 */
export interface ContinuityStore {
  /** Half a sentence while it is not known whether commits were lost; null when it is. Meanwhile nothing is signed and no id is given. */
  doubt(): string | null;
  /** Resolves when there is no doubt. */
  known(): Promise<void>;
  /** The last proven loss; null if there was none. */
  lastLoss(): CommitLoss | null;
  /** Called when a loss is proven, by whichever replica, and when it is adopted. */
  onLoss(listener: (loss: CommitLoss) => void): Cancel;
  /** What the server does not give, for `/ready`. */
  notes(): readonly string[];
  /** The chain has transactions of the relayer that the database does not know: proof at a start, when the replica remembers nothing. */
  prove(evidence: LossEvidence): Promise<CommitLoss>;
  /** The operator lets openings go on after a loss of a minute or more, or of unknown length. */
  adopt(loss: bigint, at: number): Promise<CommitLoss | null>;
  /** A client's cursor that the database never gave out, or that lies where entries are missing. */
  isCursorLost(chain: ChainSlug, trader: Address, cursor: bigint): Promise<boolean>;
}

/** A cut of the database's history. */
export interface CommitLoss {
  readonly id: bigint;
  readonly detectedAt: number;
  /** When the first missing commit was acknowledged, as far as a replica remembered it; null if unknown. */
  readonly lostFrom: number | null;
  readonly reason: string;
  /** The highest nonce of each wallet that a replica remembered. */
  readonly walletNonces: Readonly<Record<string, number>>;
  readonly adoptedAt: number | null;
}

export interface LossEvidence {
  readonly reason: string;
  readonly at: number;
}

/** A loss of less goes on by itself; a longer or unknown one waits for the operator. */
export const SHORT_LOSS_MS = 60_000;
/** After a loss the facade takes no nonce up to this long after its detection, because requests under lost ones could be repeated. */
export const FACADE_FLOOR_MS = 60_000;
/** The same for timestamps of the native API and of messages of master wallets. */
export const NATIVE_FLOOR_MS = 30_000;

/** Openings, and agents of the facade that were approved before, wait for the operator. */
export const awaitsOperator = ({ detectedAt, lostFrom, adoptedAt }: CommitLoss): boolean =>
  adoptedAt === null && (lostFrom === null || detectedAt - lostFrom >= SHORT_LOSS_MS);

/** Key of `walletNonces`. */
export const walletKey = (chain: ChainSlug, wallet: Address): string => `${chain} ${wallet}`;
