import { NOTHING_KNOWN } from '../../../core/domain/contract-doubt.js';
import type { DueWork } from '../../../core/ports/store.js';

export const NOTHING_DUE: DueWork = {
  switches: [],
  busyWallets: [],
  laneProblems: [],
  indexedBlock: null,
  contract: NOTHING_KNOWN,
  orders: false,
  sentOrders: false,
  reservations: false,
  schedules: false,
  reclaims: false,
  closingSlippages: false,
};
