/** The promised life of orders and agents, row by row, and where each is proved. */

/** A test of another file, found by its title. */
export interface Elsewhere {
  readonly file: string;
  readonly title: string;
}

/** Of `lifecycle.test.ts`. */
export type WalkName = 'executed' | 'expired' | 'late' | 'triggered' | 'tried in vain';

export interface Row {
  readonly row: string;
  /** The status of the order in the account's journal, from and to; null where the row is about an answer, not about a move. */
  readonly move: string | null;
  readonly proof: WalkName | Elsewhere;
}

const elsewhere = (file: string, title: string): Elsewhere => ({ file, title });

export const ORDER_ROWS: readonly Row[] = [
  {
    row: 'createOrder is simulated and stored',
    move: '- → prepared',
    proof: elsewhere(
      'native-api/create-order.test.ts',
      'is answered with everything that was asked for and the transaction that places it',
    ),
  },
  {
    row: 'closePosition is simulated and stored',
    move: '- → prepared',
    proof: elsewhere('native-api/close-position.test.ts', 'closes the whole position as an ordinary order of the opposite side'),
  },
  { row: 'the market request is mined', move: 'prepared → pending', proof: 'executed' },
  { row: 'the limit or stop order is stored on chain', move: 'prepared → open', proof: 'triggered' },
  {
    row: 'a hash becomes known',
    move: 'prepared → prepared',
    proof: elsewhere('native-api/submit-order.test.ts', 'stores a transaction that is not mined yet, and moves on when it is'),
  },
  {
    row: 'the transaction is mined but reverted, hash known',
    move: 'prepared → rejected',
    proof: elsewhere('native-api/submit-order.test.ts', 'rejects the order when its transaction was mined and failed'),
  },
  {
    row: 'the transaction is mined but reverted, hash unknown',
    move: 'prepared → expired',
    proof: elsewhere('core/indexer/failed-orders.test.ts', 'expires while its hash is unknown'),
  },
  { row: 'expiresAt passes, nothing on chain', move: 'prepared → expired', proof: 'expired' },
  {
    row: 'cancelOrder, no hash known',
    move: 'prepared → expired',
    proof: elsewhere('native-api/cancel-order.test.ts', 'expires an unsent order, at once and with nothing to send'),
  },
  {
    row: 'cancelOrder while a known hash is unmined',
    move: null,
    proof: elsewhere('native-api/cancel-order.test.ts', 'does not give up an order whose transaction is known and not mined'),
  },
  { row: 'the transaction of a market order lands after all', move: 'expired → pending', proof: 'expired' },
  { row: 'the transaction of a resting order lands after all', move: 'expired → open', proof: 'expired' },
  { row: 'the same clientId asks for an expired order afresh', move: 'expired → prepared', proof: 'expired' },
  {
    row: 'a hash of an expired order becomes known',
    move: 'expired → expired',
    proof: elsewhere('core/indexer/failed-orders.test.ts', 'that is on no node does not keep the order from expiring'),
  },
  { row: 'the oracle executes', move: 'pending → filled', proof: 'executed' },
  {
    row: 'the contracts refuse',
    move: 'pending → rejected',
    proof: elsewhere('scenarios/reasons.test.ts', 'is reported when the contracts refuse with it'),
  },
  {
    row: 'the oracle answers, and the contracts log it in a way that cannot be read',
    move: 'pending → pending',
    proof: elsewhere('core/indexer/changed-events.test.ts', 'stays pending, stops openings on both front ends'),
  },
  {
    row: 'the oracle answers late, and the contracts log it in a way that cannot be read',
    move: 'timed_out → pending',
    proof: elsewhere('core/indexer/changed-events.test.ts', 'that comes after the time-out makes the order pending again'),
  },
  {
    row: 'a resting order is executed, and the contracts log it in a way that cannot be read',
    move: 'open → pending',
    proof: elsewhere('core/indexer/changed-events.test.ts', 'is that of a resting order, which is neither open nor canceled'),
  },
  { row: 'the timeout blocks pass', move: 'pending → timed_out', proof: 'late' },
  {
    row: 'it times out and is reclaimed while no gateway runs',
    move: 'pending → canceled',
    proof: elsewhere('scenarios/killed-gateway.test.ts', 'finds what was reclaimed while it was dead'),
  },
  { row: 'the oracle answers late and executes', move: 'timed_out → filled', proof: 'late' },
  { row: 'the oracle answers late and the contracts refuse', move: 'timed_out → rejected', proof: 'late' },
  { row: 'the reclaim is mined', move: 'timed_out → canceled', proof: 'late' },
  {
    row: 'updateOrder is mined',
    move: 'open → open',
    proof: elsewhere('native-api/update-order.test.ts', 'moves its price, levels and slippage and keeps the rest'),
  },
  {
    row: 'a change of size is mined, withdrawal and new order in one transaction',
    move: 'open → open',
    proof: elsewhere('native-api/update-order.test.ts', 'changes its price and its size in one transaction each, under the same id'),
  },
  { row: 'the trigger executes', move: 'open → filled', proof: 'triggered' },
  { row: 'the trigger is cancelled, and a later one executes', move: 'open → filled', proof: 'tried in vain' },
  {
    row: 'the cancel is mined',
    move: 'open → canceled',
    proof: elsewhere('native-api/cancel-order.test.ts', 'takes a resting order back with its collateral'),
  },
  {
    row: 'the block that holds the event is reorganised away, one to five blocks deep',
    move: null,
    proof: elsewhere(
      'core/indexer/own-reorganisation.test.ts',
      'that takes back %s, %i blocks deep, leaves the order as the chain has it, and journals each step',
    ),
  },
  {
    row: 'a limit or stop that only reduces is prepared, set as a level of its position, and hit',
    move: 'open → filled',
    proof: elsewhere('native-api/reduce-only-levels.test.ts', 'as %s rests on a %s at %s and is filled when the price gets there'),
  },
  {
    row: 'the level is moved by updateOrder',
    move: 'open → open',
    proof: elsewhere('native-api/reduce-only-levels.test.ts', 'is moved by PATCH and stays the same order'),
  },
  {
    row: 'the position of the level is resized',
    move: 'open → open',
    proof: elsewhere('native-api/reduce-only-levels.test.ts', 'closes whatever its position has become'),
  },
  {
    row: 'the level is removed by cancelOrder',
    move: 'open → canceled',
    proof: elsewhere('native-api/reduce-only-levels.test.ts', 'is cancelled by DELETE, and the position keeps its other level'),
  },
  {
    row: 'the level is replaced or removed by others, or the position closed without it',
    move: 'open → canceled',
    proof: elsewhere('native-api/reduce-only-levels.test.ts', 'is canceled when the other level closes the position, and by a liquidation'),
  },
  {
    row: 'the level is set after its order had expired',
    move: 'expired → open',
    proof: elsewhere('core/indexer/level-orders.test.ts', 'is mined after it had expired, and it rests'),
  },
  {
    row: 'the transaction that sets the level is mined but reverted',
    move: 'prepared → rejected',
    proof: elsewhere('core/indexer/level-orders.test.ts', 'that failed rejects it once its hash is known'),
  },
  {
    row: 'the block that set, moved, removed or hit the level is reorganised away, one to five blocks deep',
    move: null,
    proof: elsewhere('core/indexer/level-orders.test.ts', 'leaves it as it was, whatever it takes back, however deep'),
  },
  {
    row: 'an update of a pending request is refused',
    move: null,
    proof: elsewhere('native-api/update-order.test.ts', 'refuses one that is prepared, waits for the oracle, is filled or canceled'),
  },
  {
    row: 'DELETE of a timed-out request returns the reclaim',
    move: null,
    proof: elsewhere('native-api/cancel-order.test.ts', 'says from when an unanswered request can be reclaimed, reclaims it then'),
  },
];

export const POSITION_ROWS: readonly Row[] = [
  {
    row: 'a part is closed',
    move: null,
    proof: elsewhere('native-api/close-position.test.ts', 'closes a part, never more than was asked for'),
  },
  {
    row: 'its take profit and stop loss are set, moved and cleared',
    move: null,
    proof: elsewhere('native-api/update-position.test.ts', 'sets, moves and clears them, without an order'),
  },
  {
    row: 'its leverage goes down',
    move: null,
    proof: elsewhere('native-api/update-position.test.ts', 'lowers it for collateral that comes in'),
  },
  {
    row: 'its leverage goes up',
    move: null,
    proof: elsewhere('native-api/update-position.test.ts', 'raises it for collateral that goes out'),
  },
  {
    row: 'collateral is added and removed',
    move: null,
    proof: elsewhere('native-api/update-position.test.ts', '%s what a leverage of three decimals can express, and says how much that is'),
  },
  {
    row: 'its change is refused, times out and is reclaimed',
    move: null,
    proof: elsewhere('native-api/update-position.test.ts', 'can be refused by the contracts, time out and be reclaimed as every order'),
  },
];

export const AGENT_ROWS: readonly Row[] = [
  {
    row: 'a new agent is pending_delegation, then active, then revoked by the master wallet',
    move: null,
    proof: elsewhere(
      'native-api/agents.test.ts',
      'is authorised by the master wallet, becomes usable by its transaction and is cut off by its revocation',
    ),
  },
  {
    row: 'an agent that is the trader needs no delegation',
    move: null,
    proof: elsewhere('native-api/agents.test.ts', 'that is the trader itself needs no delegation, neither to begin nor to end'),
  },
  {
    row: 'scope.expiresAt passes',
    move: null,
    proof: elsewhere('native-api/agents.test.ts', 'expires with its scope, without a request'),
  },
  {
    row: "the trader's own removeTradingDelegate cuts the agent",
    move: null,
    proof: elsewhere(
      'native-api/agents.test.ts',
      'goes back to pending when the trader removes it on chain, whatever the gateway has stored',
    ),
  },
];
