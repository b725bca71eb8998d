/** All metrics, one row each. Labels never contain client input. */
interface MetricRow {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
}

const row = <const Row extends MetricRow>(made: Row): Row => made;

export const METRICS = {
  build: row({
    name: 'gateway_build_info',
    type: 'gauge',
    help: 'Always 1; the labels say what runs.',
    labels: ['version', 'commit', 'mode', 'node'],
  }),
  ready: row({ name: 'gateway_ready', type: 'gauge', help: 'Whether /ready answers 200.', labels: [] }),
  partReady: row({
    name: 'gateway_part_ready',
    type: 'gauge',
    help: 'Whether a part of the service is well; part: database, rpc, follower, feed, relayer. /ready says why not.',
    labels: ['chain', 'part'],
  }),
  signingWaits: row({
    name: 'gateway_signing_waits',
    type: 'gauge',
    help: 'Whether nothing is signed because it is being checked whether the database lost commits.',
    labels: [],
  }),
  lossWaits: row({
    name: 'gateway_commit_loss_waits',
    type: 'gauge',
    help: 'Whether a loss of commits waits for the operator: agents of the facade only close and cancel.',
    labels: [],
  }),
  lastLoss: row({
    name: 'gateway_last_commit_loss_timestamp_seconds',
    type: 'gauge',
    help: 'When it was last noticed that the database had lost commits; absent if it never was.',
    labels: [],
  }),
  storeUp: row({ name: 'gateway_store_up', type: 'gauge', help: 'Whether the database answers.', labels: [] }),

  requests: row({
    name: 'gateway_http_requests_total',
    type: 'counter',
    help: 'Requests answered, by front end (label `api`), transport (http, or ws for posts on a WebSocket), operation and status code.',
    labels: ['api', 'transport', 'operation', 'code'],
  }),
  latency: row({
    name: 'gateway_http_request_seconds',
    type: 'histogram',
    help: 'Time from a request to its answer.',
    labels: ['api', 'transport', 'operation'],
  }),
  actions: row({
    name: 'gateway_facade_actions_total',
    type: 'counter',
    help: 'Actions of the facade that were answered with HTTP 200, by what the answer says; outcome: ok, err.',
    labels: ['action', 'outcome'],
  }),
  sessions: row({ name: 'gateway_sockets', type: 'gauge', help: 'WebSocket connections that are open.', labels: ['api'] }),
  subscriptions: row({
    name: 'gateway_subscriptions',
    type: 'gauge',
    help: 'Subscriptions of all open WebSocket connections.',
    labels: ['api'],
  }),
  backlog: row({
    name: 'gateway_socket_backlog_bytes',
    type: 'gauge',
    help: 'Bytes that wait for slow readers of WebSocket connections.',
    labels: [],
  }),

  rejections: row({ name: 'gateway_unhandled_rejections_total', type: 'counter', help: 'Rejections without a handler.', labels: [] }),
  headBlock: row({ name: 'gateway_chain_head_block', type: 'gauge', help: 'The newest block seen.', labels: ['chain'] }),
  headAge: row({ name: 'gateway_chain_head_age_seconds', type: 'gauge', help: 'Since the newest block was seen.', labels: ['chain'] }),
  lagBlocks: row({
    name: 'gateway_follower_lag_blocks',
    type: 'gauge',
    help: 'Blocks whose events are not applied yet.',
    labels: ['chain'],
  }),
  lagSeconds: row({
    name: 'gateway_follower_lag_seconds',
    type: 'gauge',
    help: 'Since the events of the newest block were last all applied; 0 while they are.',
    labels: ['chain'],
  }),
  rpcRequests: row({
    name: 'gateway_rpc_requests_total',
    type: 'counter',
    help: 'Requests to nodes, each with all its calls, by endpoint and outcome: answered, failed.',
    labels: ['chain', 'endpoint', 'outcome'],
  }),
  rpcCalls: row({
    name: 'gateway_rpc_calls_total',
    type: 'counter',
    help: 'Calls to nodes by method; outcome: answered, refused (the node answered with an error), failed (it did not answer).',
    labels: ['chain', 'endpoint', 'method', 'outcome'],
  }),
  rpcLatency: row({
    name: 'gateway_rpc_call_seconds',
    type: 'histogram',
    help: 'Time from a call to its answer, that of the batch it travelled in.',
    labels: ['chain', 'endpoint', 'method'],
  }),
  endpointUp: row({
    name: 'gateway_rpc_endpoint_up',
    type: 'gauge',
    help: 'Whether an endpoint is asked.',
    labels: ['chain', 'endpoint'],
  }),
  endpointHead: row({
    name: 'gateway_rpc_endpoint_head_block',
    type: 'gauge',
    help: 'The newest block an endpoint has reported.',
    labels: ['chain', 'endpoint'],
  }),
  feedUp: row({
    name: 'gateway_feed_up',
    type: 'gauge',
    help: 'Whether a part of the market feed is fresh; part: config, price, events, history.',
    labels: ['chain', 'part'],
  }),
  feedAge: row({
    name: 'gateway_feed_age_seconds',
    type: 'gauge',
    help: 'Since a part of the market feed last spoke.',
    labels: ['chain', 'part'],
  }),

  orders: row({ name: 'gateway_orders', type: 'gauge', help: 'Orders that are not over, by status.', labels: ['chain', 'status'] }),
  ordersOver: row({
    name: 'gateway_orders_finished_total',
    type: 'counter',
    help: 'Orders that this replica has seen come to their end, by status.',
    labels: ['chain', 'status'],
  }),
  orderSeconds: row({
    name: 'gateway_order_seconds',
    type: 'histogram',
    help: 'Time that orders made here take; phase: mined (from prepared to its request in a block), filled (from there to its execution).',
    labels: ['chain', 'type', 'phase'],
  }),
  journalLag: row({
    name: 'gateway_journal_lag_seconds',
    type: 'histogram',
    help: 'Time from an entry of an account’s journal to its arrival at this replica.',
    labels: ['chain'],
  }),
  journalEntries: row({
    name: 'gateway_journal_entries',
    type: 'gauge',
    help: 'Entries of all accounts’ journals, which are kept for ever.',
    labels: ['chain'],
  }),
  journalAge: row({
    name: 'gateway_journal_read_age_seconds',
    type: 'gauge',
    help: 'Since this replica had last read the journals of all chains to their end; about five seconds at most while all is well.',
    labels: [],
  }),

  balance: row({
    name: 'gateway_relayer_balance_native',
    type: 'gauge',
    help: 'What a wallet holds, in the chain’s own coin.',
    labels: ['chain', 'wallet'],
  }),
  runway: row({
    name: 'gateway_relayer_runway_days',
    type: 'gauge',
    help: 'Days until a wallet is empty at the dearer of its two paces.',
    labels: ['chain', 'wallet'],
  }),
  blocked: row({
    name: 'gateway_relayer_lane_blocked',
    type: 'gauge',
    help: 'Whether a lane cannot send.',
    labels: ['chain', 'wallet'],
  }),
  oldestOpen: row({
    name: 'gateway_relayer_oldest_open_seconds',
    type: 'gauge',
    help: 'Age of the oldest job that is not over.',
    labels: ['chain', 'wallet'],
  }),
  openJobs: row({
    name: 'gateway_relayer_open_jobs',
    type: 'gauge',
    help: 'Jobs that are not over, by state; queued ones have no nonce yet.',
    labels: ['chain', 'wallet', 'state'],
  }),
  queueDepth: row({
    name: 'gateway_relayer_queue_depth',
    type: 'gauge',
    help: 'Jobs that wait for a nonce.',
    labels: ['chain', 'wallet'],
  }),
  inFlight: row({
    name: 'gateway_relayer_in_flight',
    type: 'gauge',
    help: 'Jobs that have a nonce and are in no block yet.',
    labels: ['chain', 'wallet'],
  }),
  nonceGap: row({
    name: 'gateway_relayer_nonce_gap',
    type: 'gauge',
    help: 'Nonces from the chain’s next one on that are taken and belong to no open job; above 0 for long, a lane stands still.',
    labels: ['chain', 'wallet'],
  }),
  relaySeconds: row({
    name: 'gateway_relayer_job_seconds',
    type: 'histogram',
    help: 'Time that jobs sent by this replica take; phase: broadcast (from stored to taken by a node), mined (from there to a block).',
    labels: ['chain', 'phase'],
  }),
  cost: row({
    name: 'gateway_relayer_cost_native',
    type: 'gauge',
    help: 'Gas paid since the beginning, in the chain’s own coin.',
    labels: ['chain', 'wallet', 'action', 'outcome'],
  }),
  transactions: row({
    name: 'gateway_relayer_transactions',
    type: 'gauge',
    help: 'Transactions mined; outcome replaced: a nonce given away, no-op: a gap filled.',
    labels: ['chain', 'wallet', 'action', 'outcome'],
  }),
  refusals: row({
    name: 'gateway_relayer_refusals_total',
    type: 'counter',
    help: 'Jobs that were never sent, by reason.',
    labels: ['chain', 'reason'],
  }),
  alertsOpen: row({
    name: 'gateway_alerts_open',
    type: 'gauge',
    help: 'Alerts that are open, by kind.',
    labels: ['chain', 'kind'],
  }),
  deliveries: row({
    name: 'gateway_alert_deliveries',
    type: 'gauge',
    help: 'Messages that the receiver of alerts has not taken; dead ones are not tried any more.',
    labels: ['state'],
  }),

  poolConnections: row({
    name: 'gateway_database_pool_connections',
    type: 'gauge',
    help: 'Connections of the database pool; state: used, idle, opening.',
    labels: ['state'],
  }),
  poolMost: row({
    name: 'gateway_database_pool_size',
    type: 'gauge',
    help: 'The most connections the database pool may hold.',
    labels: [],
  }),
  poolWaiting: row({
    name: 'gateway_database_pool_waiting',
    type: 'gauge',
    help: 'Requests that wait for a connection of the database pool now.',
    labels: [],
  }),
  poolWait: row({
    name: 'gateway_database_pool_wait_seconds',
    type: 'histogram',
    help: 'Time until a connection of the database pool is lent.',
    labels: [],
  }),
  loopDelay: row({
    name: 'gateway_event_loop_delay_seconds',
    type: 'gauge',
    help: 'By how much the event loop came too late, since the last scrape; quantile: 0.5, 0.99, 1.',
    labels: ['quantile'],
  }),
} as const;

export type MetricKey = keyof typeof METRICS;
