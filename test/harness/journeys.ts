/**
 * The files of three requests in the order in which they work, as docs/architecture.md draws them. A file imports the next one, or the next
 * one implements the port before it. Where neither holds, `from` is the file that imports it, and `composedIn` the one that composes both.
 */
export interface Step {
  readonly file: string;
  readonly from?: string;
  readonly composedIn?: string;
}

const NATIVE_ORDER: readonly Step[] = [
  { file: 'app/compose/gateway.ts' },
  { file: 'native-api/app.ts' },
  { file: 'native-api/router.ts' },
  { file: 'core/access/authenticate.ts' },
  { file: 'core/access/admission.ts' },
  { file: 'native-api/operations/index.ts', from: 'native-api/app.ts' },
  { file: 'native-api/operations/orders.ts' },
  { file: 'core/trading/create-order.ts' },
  { file: 'core/trading/order-request.ts' },
  { file: 'core/trading/prepare-order.ts', from: 'core/trading/create-order.ts' },
  { file: 'core/trading/prepare-transaction.ts', from: 'core/trading/prepare-order.ts' },
  { file: 'core/ports/simulation.ts' },
  { file: 'core/adapters/evm/simulate.ts' },
  { file: 'core/trading/place-order.ts', from: 'core/trading/create-order.ts' },
  { file: 'core/ports/stores/orders.ts' },
  { file: 'core/adapters/postgres/orders-store.ts' },
  { file: 'core/adapters/postgres/place-order.ts' },
  { file: 'native-api/wire/orders.ts', from: 'native-api/operations/orders.ts' },
];

const FACADE_ORDER: readonly Step[] = [
  { file: 'app/compose/gateway.ts' },
  { file: 'facade/app.ts' },
  { file: 'facade/exchange.ts' },
  { file: 'facade/signing/l1-signature.ts' },
  { file: 'facade/admit-action.ts', from: 'facade/exchange.ts' },
  { file: 'core/ports/stores/signers.ts' },
  { file: 'core/adapters/postgres/signer-store.ts' },
  { file: 'facade/trade/trade-handlers.ts', from: 'app/compose/gateway.ts' },
  { file: 'facade/trade/place.ts' },
  { file: 'facade/trade/read-order.ts' },
  { file: 'facade/trade/send/relay-orders.ts', from: 'facade/trade/place.ts' },
  { file: 'facade/trade/plan/plan-items.ts' },
  { file: 'core/trading/prepare-leg.ts' },
  { file: 'core/trading/prepare-order.ts' },
  { file: 'facade/trade/send/send-item.ts', from: 'facade/trade/send/relay-orders.ts' },
  { file: 'core/trading/place-order.ts' },
  { file: 'core/ports/relayer.ts' },
  { file: 'relayer/create-relayer.ts' },
  { file: 'core/ports/stores/relay.ts' },
  { file: 'core/adapters/postgres/relay-store.ts' },
  { file: 'relayer/lane.ts', from: 'relayer/create-relayer.ts' },
  { file: 'relayer/job-check.ts' },
  { file: 'relayer/policy.ts' },
  { file: 'relayer/signer.ts', from: 'relayer/lane.ts' },
  { file: 'relayer/deliver.ts', from: 'relayer/lane.ts' },
  { file: 'core/adapters/evm/relay-node.ts', composedIn: 'app/compose/venue.ts' },
  { file: 'relayer/chain-reconciler.ts', from: 'relayer/lane.ts' },
  { file: 'facade/trade/send/await-orders.ts', from: 'facade/trade/send/relay-orders.ts' },
  { file: 'facade/trade/item-status.ts', from: 'facade/trade/place.ts' },
];

const CHAIN_EVENT: readonly Step[] = [
  { file: 'app/compose/venue.ts' },
  { file: 'core/indexer/watch-head.ts' },
  { file: 'core/indexer/follow-chain.ts', from: 'app/compose/venue.ts' },
  { file: 'core/ports/chain.ts' },
  { file: 'core/adapters/evm/logs.ts' },
  { file: 'core/indexer/chain-steps.ts', from: 'core/indexer/follow-chain.ts' },
  { file: 'core/indexer/interpret-range.ts' },
  { file: 'core/domain/interpret-logs.ts' },
  { file: 'core/indexer/apply-events.ts', from: 'core/indexer/chain-steps.ts' },
  { file: 'core/domain/order-machine.ts' },
  { file: 'core/ports/stores/tracking.ts', from: 'core/indexer/chain-steps.ts' },
  { file: 'core/adapters/postgres/tracking-store.ts' },
  { file: 'core/adapters/postgres/journal-rows.ts' },
  { file: 'core/adapters/postgres/journal-store.ts', composedIn: 'core/adapters/postgres/create-store.ts' },
  { file: 'core/stream/journal-stream.ts', composedIn: 'app/compose/gateway.ts' },
  { file: 'core/stream/venue-stream.ts', composedIn: 'app/compose/gateway.ts' },
  { file: 'core/stream/journal-stream.ts' },
  { file: 'native-api/ws/session.ts', composedIn: 'app/compose/gateway.ts' },
  { file: 'native-api/ws/private-channels.ts' },
  { file: 'core/stream/outbox.ts', from: 'native-api/ws/session.ts' },
  { file: 'http/sockets.ts', composedIn: 'app/compose/gateway.ts' },
];

export const JOURNEYS = { 'native order': NATIVE_ORDER, 'facade order': FACADE_ORDER, 'chain event': CHAIN_EVENT } as const;
