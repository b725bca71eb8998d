import fc from 'fast-check';
import { SEED } from './arbitraries.js';
import { adjust } from './differential-adjust.js';
import { createDifferentialChain } from './differential-chain.js';
import { open } from './differential-open.js';
import { round as roundPlan, type RoundPlan } from './differential-plan.js';
import type { Round, Tally } from './differential-round.js';
import { compareTrade, compareViews } from './differential-views.js';
import { furnish, grantTiers } from './differential-world.js';

/** A few rounds meet most outcomes; all of them are met by `npm run test:slow`. */
const isSlow = process.env['SLOW_TESTS'] === '1';
const ROUNDS = isSlow ? 16 : 2;
const COUNTS = { actions: 70, views: 30 };
const DAY = 86_400n;

/** A run that stops meeting one of these has stopped testing it. */
const OUTCOMES = [
  ...['NONE', 'SLIPPAGE', 'TP_REACHED', 'SL_REACHED', 'LIQ_REACHED', 'EXPOSURE_LIMITS', 'PRICE_IMPACT', 'MAX_LEVERAGE'].map(
    (r) => `open ${r}`,
  ),
  'open COUNTER_TRADE_CANCELED',
  ...['NONE', 'SLIPPAGE'].map((reason) => `close ${reason}`),
  ...['NONE', 'WRONG_TRADE', 'SLIPPAGE', 'SL_REACHED', 'LIQ_REACHED', 'EXPOSURE_LIMITS', 'MAX_LEVERAGE'].map((r) => `increase ${r}`),
  'increase COUNTER_TRADE_CANCELED',
  ...['NONE', 'LIQ_REACHED', 'SLIPPAGE'].flatMap((reason) => [`decrease ${reason}`, `decrease ${reason} by leverage`]),
  'decrease WRONG_TRADE',
  ...['NONE', 'LIQ_REACHED', 'MAX_LEVERAGE'].map((reason) => `leverage ${reason}`),
  ...['nothing', 'a part', 'all'].map((paid) => `withdraw ${paid}`),
];

async function play(plan: RoundPlan, label: string, tally: Tally): Promise<void> {
  const chain = await createDifferentialChain();
  await furnish(chain, plan);
  const round: Round = { chain, plan, prices: plan.pairs.map(({ price }) => price), trades: [], tally, label };
  let day = -1n;
  for (const [step, action] of plan.actions.entries()) {
    chain.wait(action.pause);
    // Fee multipliers last until midnight: an action that would reach beyond it waits for the next day.
    const untilMidnight = DAY - (chain.next().timestamp % DAY);
    if (untilMidnight < action.seconds + 60n) chain.wait(action.pause + untilMidnight);
    if (chain.next().timestamp / DAY !== day) {
      day = chain.next().timestamp / DAY;
      await grantTiers(chain, plan);
    }
    const price = round.prices[action.pair] ?? 1n;
    round.prices[action.pair] = (price * (10_000n + action.moves[0])) / 10_000n + 1n;
    await (action.kind === 'open' ? open(round, action) : adjust(round, action));
    const view = plan.views[step];
    if (!view) continue;
    await compareViews(round, view);
    const trade = round.trades[action.which % Math.max(round.trades.length, 1)];
    if (trade) await compareTrade(round, trade, round.prices[trade.pair] ?? 1n);
  }
  chain.close();
}

describe('our pricing and the sandbox contract', () => {
  it('agree to the last digit over hundreds of random actions and their views, whatever the outcome', async () => {
    const tally: Tally = { mismatches: [], outcomes: new Map(), compared: 0 };
    const plans = fc.sample(roundPlan(COUNTS), { seed: SEED, numRuns: ROUNDS });
    for (const [index, plan] of plans.entries()) await play(plan, `round ${index}`, tally);
    expect(tally.mismatches.slice(0, 20)).toEqual([]);
    if (isSlow) expect([...tally.outcomes.keys()]).toEqual(expect.arrayContaining(OUTCOMES));
    expect(tally.compared).toBeGreaterThan(ROUNDS * 900);
  }, 180_000);
});
