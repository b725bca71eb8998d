import { getAddress, isAddress } from 'viem';
import type { Clock } from '../../core/ports/clock.js';
import type { Address } from '../../core/types.js';
import type { Candle, CandleBook } from './candles.js';
import type { ChainBackend } from './chain-backend.js';
import { PRICE_SCALE, type PriceWalk } from './price-walk.js';
import { humanNumber, type WireValue } from './wire-format.js';

export interface Reply {
  readonly status: number;
  readonly body: WireValue;
}

export interface RouteContext {
  /** In the given order; the first also answers without a prefix. */
  readonly chains: readonly ChainBackend[];
  readonly walk: PriceWalk;
  readonly candles: CandleBook;
  readonly clock: Clock;
}

const HOUR_MS = 3_600_000;
const MAX_CANDLES = 5_000;

const ok = (body: WireValue): Reply => ({ status: 200, body });
const refuse = (status: number, message: string): Reply => ({ status, body: { error: message, message } });

/** Chain host, pricing host and global host of production on one port; `/{chain}/…` names the chain. */
export async function route(context: RouteContext, url: URL): Promise<Reply> {
  const parts = url.pathname.split('/').filter((part) => part !== '');
  const named = context.chains.find(({ slug }) => slug === parts[0]);
  const chain = named ?? context.chains[0];
  const [head, ...rest] = named ? parts.slice(1) : parts;
  if (head === 'health') return ok({ status: 'ok' });
  if (head === 'charts') return charts(context, rest);
  if (head === 'api' && rest[0] === 'trading-history') return history(context, rest[1] ?? '', url.searchParams.get('chainId'));
  return chain ? chainRoute(chain, head ?? '', rest) : refuse(404, 'Not found');
}

async function chainRoute(chain: ChainBackend, head: string, [argument]: readonly string[]): Promise<Reply> {
  switch (head) {
    case 'trading-variables':
      return variables(chain, argument);
    case 'trading-variables-keys':
      return variables(chain, undefined, (all) => Object.keys(all));
    case 'open-trades':
      return argument === undefined ? ok(await chain.openTrades(null)) : forTrader(argument, (trader) => chain.openTrades(trader));
    case 'user-trading-variables':
      return forTrader(argument ?? '', (trader) => chain.user(trader));
    default:
      return refuse(404, 'Not found');
  }
}

function variables(
  chain: ChainBackend,
  keys: string | undefined,
  project = (all: Readonly<Record<string, WireValue>>): WireValue => all,
): Reply {
  const all = chain.variables();
  if (!all) return refuse(503, 'The contract has not been read yet');
  if (keys === undefined) return ok(project(all));
  if (keys === 'all') return ok({ ...all, allTrades: [] });
  const asked = new Set(decodeURIComponent(keys).split(','));
  return ok(Object.fromEntries(Object.entries(all).filter(([key]) => asked.has(key))));
}

/** Production accepts only checksummed addresses. */
async function forTrader(text: string, answer: (trader: Address) => Promise<WireValue>): Promise<Reply> {
  if (!isAddress(text, { strict: false }) || getAddress(text) !== text) return refuse(400, 'The address must be checksummed');
  return ok(await answer(text));
}

function charts({ walk, candles, clock }: RouteContext, path: readonly string[]): Reply {
  if (path.length === 0) return ok(snapshot(walk, candles, clock.now()));
  const [pairIndex, from, to, resolution] = path.map((part) => (/^\d{1,12}$/.test(part) ? Number(part) : NaN));
  if (pairIndex === undefined || from === undefined || to === undefined || resolution === undefined) return refuse(404, 'Not found');
  if (![pairIndex, from, to].every(Number.isSafeInteger) || !(resolution >= 1 && resolution <= 1440)) return refuse(400, 'Bad parameters');
  const table = candles.read({ pairIndex, from: from * 1000, to: to * 1000, resolution }).slice(-MAX_CANDLES);
  return ok({ table: table.map(wireCandle) });
}

const human = (price: bigint): number => humanNumber(price, PRICE_SCALE);
const wireCandle = ({ time, open, high, low, close }: Candle): WireValue => ({
  ...{ time, open: human(open), high: human(high), low: human(low), close: human(close) },
});

/** The index is the pair index; a slot without a market is null in every column. */
function snapshot(walk: PriceWalk, candles: CandleBook, now: number): WireValue {
  const prices = walk.prices();
  const count = Math.max(-1, ...prices.keys()) + 1;
  const days = Array.from({ length: count }, (_, pairIndex) => (prices.has(pairIndex) ? candles.today(pairIndex) : null));
  const closes = Array.from({ length: count }, (_, pairIndex) => prices.get(pairIndex));
  const column = (pick: (day: Candle) => bigint): WireValue[] =>
    days.map((day, at) => {
      const price = day ? pick(day) : closes[at];
      return price === undefined ? null : human(price);
    });
  const last = closes.map((price) => (price === undefined ? null : human(price)));
  return {
    time: now,
    opens: column((day) => day.open),
    highs: column((day) => day.high),
    lows: column((day) => day.low),
    closes: last,
    indexPrices: last,
  };
}

function history({ chains, clock }: RouteContext, window: string, chainId: string | null): Reply {
  const hours = { '24h': 24, '48h': 48, '72h': 72 }[window];
  if (hours === undefined) return refuse(404, 'Not found');
  const chain = chains.find((one) => String(one.chainId) === chainId);
  return chain ? ok([...chain.history(clock.now() - hours * HOUR_MS)]) : refuse(400, 'chainId is required');
}
