import type { Address } from '../types.js';

/** A notification of the protocol's own service, which documents no fields; these are the ones every message has. */
export interface ForeignNotice {
  readonly id: number;
  readonly title: string;
  readonly body: string;
  /** Epoch ms. */
  readonly createdAt: number;
}

export interface NoticeSource {
  /** Throws UPSTREAM_UNAVAILABLE when it does not answer. */
  list(address: Address): Promise<readonly ForeignNotice[]>;
}
