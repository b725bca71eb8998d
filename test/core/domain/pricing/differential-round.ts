import { CANCEL_REASONS } from '../../../../core/domain/order.js';
import type { PriceContext, PriceImpact } from '../../../../core/domain/pricing/execution-price.js';
import { STANDARD_TERMS, type MarketView, type TraderTerms } from '../../../../core/domain/pricing/market-view.js';
import { PriceRangeError } from '../../../../core/domain/pricing/exposure.js';
import { maximum } from '../../../../core/domain/pricing/units.js';
import type { DifferentialChain, Event, Receipt } from './differential-chain.js';
import type { ActionPlan, RoundPlan } from './differential-plan.js';
import { readMarket, type TradeRef } from './differential-state.js';
import { upset } from './differential-world.js';

/** What every action shares: the request on the chain, our prediction for the block of the answer, the answer, the comparison. */

export interface Tally {
  readonly mismatches: string[];
  readonly outcomes: Map<string, number>;
  compared: number;
}

export interface Round {
  readonly chain: DifferentialChain;
  plan: RoundPlan;
  readonly prices: bigint[];
  readonly trades: TradeRef[];
  readonly tally: Tally;
  readonly label: string;
}

export type Fields = Record<string, unknown>;

const show = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? inner.toString() : inner));

/** Numbers and bigints of the same value are the same figure: the ABI decides which one viem hands out. */
const figure = (value: unknown): unknown => (typeof value === 'number' ? BigInt(value) : value);

export function compare(round: Round, what: string, actual: Fields, expected: Fields): void {
  for (const [key, value] of Object.entries(expected)) {
    round.tally.compared += 1;
    const theirs = figure(actual[key]);
    if (theirs === value) continue;
    if (typeof value === 'object' && value !== null) {
      compare(round, `${what}.${key}`, (theirs ?? {}) as Fields, value as Fields);
      continue;
    }
    round.tally.mismatches.push(`${round.label} ${what}.${key}: contract ${show(theirs)}, ours ${show(value)}`);
  }
}

export const impactFields = (impact: PriceImpact): Fields => ({
  positionSizeToken: impact.positionSizeToken,
  fixedSpreadP: impact.fixedSpreadP,
  cumulVolPriceImpactP: impact.volumeImpactP,
  skewPriceImpactP: impact.skewImpactP,
  totalPriceImpactP: impact.totalImpactP,
  priceAfterImpact: impact.priceAfterImpact,
});

export const find = (receipt: Receipt, name: string): Event | undefined => receipt.events.find((event) => event.name === name);
export const count = (round: Round, outcome: string): void =>
  void round.tally.outcomes.set(outcome, (round.tally.outcomes.get(outcome) ?? 0) + 1);
export const moved = (price: bigint, move: bigint): bigint => maximum((price * (10_000n + move)) / 10_000n, 1n);

export interface Setting {
  readonly context: PriceContext;
  readonly market: MarketView;
  readonly terms: TraderTerms;
  readonly groupOi: Awaited<ReturnType<typeof readMarket>>['groupOi'];
}

/** Everything as the block of the next transaction will find it. */
export async function settingFor(round: Round, at: { pair: number; collateral: number; trader: number; price: bigint }): Promise<Setting> {
  const moment = round.chain.next();
  const { market, groupOi } = await readMarket(round.chain, round.plan, { ...at, moment });
  const terms = round.plan.terms[at.trader] ?? STANDARD_TERMS;
  return { context: { market, terms, moment, oraclePrice: at.price }, market, terms, groupOi };
}

/** Sends the request, lets time pass, predicts, answers. Returns null when either side refuses before there is an outcome. */
export async function answered<Prediction>(
  round: Round,
  action: ActionPlan,
  request: { receipt: Receipt; pair: number; price: bigint },
  predict: () => Promise<Prediction>,
): Promise<{ prediction: Prediction; receipt: Receipt } | null> {
  const initiated = request.receipt.events.find(({ args }) => 'orderId' in args);
  if (!request.receipt.succeeded || !initiated) return null;
  const { pair, price } = request;
  const settled = round.plan;
  if (action.upheaval) round.plan = await upset(round.chain, settled, { upheaval: action.upheaval, pair, price });
  round.chain.wait(action.seconds);
  let prediction: Prediction | 'reverts';
  try {
    prediction = await predict();
  } catch (error) {
    if (!(error instanceof PriceRangeError)) throw error;
    prediction = 'reverts';
  }
  const receipt = await round.chain.fulfil(initiated.args['orderId'], price);
  if ((prediction === 'reverts') === receipt.succeeded) {
    round.tally.mismatches.push(`${round.label} ${action.kind}: contract ${receipt.succeeded ? 'answers' : 'reverts'}, ours the opposite`);
  }
  if (action.upheaval && action.upheaval !== 'funding') round.plan = await upset(round.chain, settled, { upheaval: null, pair, price });
  const closed = receipt.events.filter(({ name }) => name === 'TradeClosed').map(({ args }) => args);
  for (const { user, index } of closed) {
    const position = round.trades.findIndex((trade) => trade.user === (user as string).toLowerCase() && trade.index === Number(index));
    if (position >= 0) round.trades.splice(position, 1);
  }
  return prediction === 'reverts' || !receipt.succeeded ? null : { prediction, receipt };
}

export const reasonCode = (reason: (typeof CANCEL_REASONS)[number]): bigint => BigInt(CANCEL_REASONS.indexOf(reason));
