import type { DueWork } from '../../../core/ports/store.js';

export const NOTHING_DUE: DueWork = {
  switches: [],
  busyWallets: [],
  laneProblems: [],
  indexedBlock: null,
  orders: false,
  sentOrders: false,
  reservations: false,
  schedules: false,
  reclaims: false,
  closingSlippages: false,
};
