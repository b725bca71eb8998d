/** What bots do. A client is tested in those it has, and the compatibility report has one line for each. */
export const FLOWS = [
  'starts up',
  'reads markets, books and candles',
  'approves an agent',
  'opens and closes at the market',
  'flips a position',
  'rests a limit order',
  'places a post-only order',
  'protects a position with stop loss and take profit',
  'enters with a stop',
  'opens with stop loss and take profit attached',
  'changes an order',
  'cancels by id',
  'cancels by cloid',
  'cancels at a time set before',
  'sets the leverage',
  'changes the margin',
  'reads balances and positions',
  'keeps a ladder that it sizes by its balance',
  'reads open orders and the status of an order',
  'reads fills',
  'has fills that add up to its position',
  'is filled for no more than it asked',
  'sees a stop loss where the contract moved it',
  'finds a stop loss among its past orders',
  'trades after 70 seconds of silence',
  'gets the reason of a refused order',
  'cannot move funds',
  'streams prices and books',
  'streams orders, fills and positions',
  'trades over the socket',
  'runs a strategy that asks for volume',
] as const;

export type Flow = (typeof FLOWS)[number];

/** What `npm test` tries with the newest version of each client. `npm run compat` sets the variable, and runs all flows of all versions. */
export const USUAL_FLOWS: readonly Flow[] = [
  'starts up',
  'approves an agent',
  'opens and closes at the market',
  'protects a position with stop loss and take profit',
  'cancels by id',
  'keeps a ladder that it sizes by its balance',
  'streams orders, fills and positions',
  'trades over the socket',
  'runs a strategy that asks for volume',
];
export const ALL_FLOWS_VARIABLE = 'ALL_FLOWS';

/** The test that holds the report against its run; the report itself is written without it. */
export const REPORT_TEST = 'is reported exactly as it is tested';
