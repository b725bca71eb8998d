import type { Address, Cancel } from '../types.js';

/** A wallet that has traded and that the database does not know: its pause, its rules and its queue may stand in another database. */
export interface WaitingWallet {
  readonly wallet: Address;
  readonly reason: string;
}

/** Whether the relayer of a chain may be used. While one of its wallets waits, none is: the database stays as it is until the operator decides. */
export interface WalletAdoption {
  /** Resolves after a first answer of the database; throws nothing. */
  check(): Promise<void>;
  isSettled(): boolean;
  waiting(): readonly WaitingWallet[];
  /** The operator says that this database is the one of the wallet. */
  adopt(wallet: Address): Promise<void>;
  /** Runs once no wallet waits, at once if none does. */
  whenSettled(task: () => void): Cancel;
}
