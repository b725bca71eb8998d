import { decodeAbiParameters, parseAbiParameters } from 'viem/utils';
import { WRITE_FUNCTIONS, type WriteName } from '../../core/chains/diamond-functions.js';
import { PENDING_TYPE } from '../../core/domain/interpret-executions.js';
import { requireListed, type ListedOrders } from '../../core/ports/account-chain.js';
import type { Chain } from '../../core/ports/chain.js';
import type { Standing } from '../../core/ports/relayer.js';
import type { RelayJob } from '../../core/ports/stores/relay.js';
import type { Address, Hex } from '../../core/types.js';

/** Whether the chain still has what these jobs close, cancel or change. Each trader is read once, at one block. */
export async function standingJobs(
  chain: Pick<Chain, 'head' | 'openOrders'>,
  jobs: readonly RelayJob[],
  priceOf: PriceOf = () => null,
): Promise<ReadonlyMap<bigint, Standing>> {
  const { number } = await chain.head();
  const traders = [...new Set(jobs.flatMap(({ trader }) => trader ?? []))];
  // A read that fails is about one trader: the others do not wait for it.
  const read = await Promise.all(
    traders.map(
      async (trader) =>
        [
          trader,
          await chain
            .openOrders(trader, number)
            .then(requireListed)
            .catch(() => null),
        ] as const,
    ),
  );
  const open = new Map<Address | null, ListedOrders | null>(read);
  return new Map(jobs.map((job) => [job.id, standingOf(job, open.get(job.trader) ?? null, priceOf)]));
}

/** The oracle's last price of a pair, 1e10; null where it is not known. */
export type PriceOf = (pairIndex: number) => bigint | null;

/** An open trade of the size that the job was made for, at a price that its bound allows; a resting order; or an unanswered request. */
export function standingOf(job: RelayJob, held: ListedOrders | null, priceOf: PriceOf = () => null): Standing {
  const calls = callsIn(job.data);
  if (calls.length === 0) return 'gone';
  if (held === null) return 'unknown';
  if (!calls.every((call) => stands(call, job, held))) return 'gone';
  return calls.every((call) => isWithinBound(call, calls, held, priceOf)) ? 'stands' : 'outpriced';
}

interface Call {
  readonly name: WriteName | null;
  /** The first argument of every call on something that exists: its index on the contract. */
  readonly index: number;
  readonly data: Hex;
}

const NAMES: ReadonlyMap<string, WriteName> = new Map(
  (Object.keys(WRITE_FUNCTIONS) as WriteName[]).map((name) => [WRITE_FUNCTIONS[name].selector, name]),
);
const SELECTOR_END = 10;
const DELEGATED = parseAbiParameters('address, bytes');
const MULTICALL = parseAbiParameters('bytes[]');
const INDEX = parseAbiParameters('uint32');

const nameOf = (data: Hex): WriteName | null => NAMES.get(data.slice(0, SELECTOR_END)) ?? null;
const argumentsOf = (data: Hex): Hex => `0x${data.slice(SELECTOR_END)}`;

/** Empty for data that cannot be read. */
function callsIn(data: Hex): readonly Call[] {
  try {
    const inner = nameOf(data) === 'delegatedTradingAction' ? decodeAbiParameters(DELEGATED, argumentsOf(data))[1] : data;
    const calls = nameOf(inner) === 'multicall' ? decodeAbiParameters(MULTICALL, argumentsOf(inner))[0] : [inner];
    return calls.map((call) => ({ name: nameOf(call), index: decodeAbiParameters(INDEX, argumentsOf(call))[0], data: call }));
  } catch {
    return [];
  }
}

function stands({ name, index }: Call, job: RelayJob, { positions, resting, pending }: ListedOrders): boolean {
  switch (name) {
    case 'cancelOpenOrder':
    case 'updateOpenOrder':
      return resting.some(({ trade }) => trade.index === index);
    case 'cancelOrderAfterTimeout':
      return pending.some((request) => request.index === index);
    case 'closeTradeMarket':
    case 'decreasePositionSize':
    case 'updateLeverage':
    case 'updateTp':
    case 'updateSl':
    case 'updateMaxClosingSlippageP': {
      const held = positions.find(({ trade }) => trade.index === index)?.trade;
      const expected = collateralIn(job, index);
      // An opening has no trade yet: its index says 0.
      const isPending = pending.some(({ orderType, trade }) => orderType !== PENDING_TYPE.marketOpen && trade.index === index);
      return held !== undefined && !isPending && (expected === null || held.collateralAmount === expected);
    }
    default:
      return false;
  }
}

const CLOSE = parseAbiParameters('uint32, uint64');
const DECREASE = parseAbiParameters('uint32, uint120, uint24, uint64');
const SLIPPAGE = parseAbiParameters('uint32, uint16');
/** 1e3 percent. */
const WHOLE = 100_000n;

/** False for a close that the contract would refuse at the market's price: it was priced when it was queued. */
function isWithinBound(call: Call, calls: readonly Call[], { positions }: ListedOrders, priceOf: PriceOf): boolean {
  const expected = expectedPriceOf(call);
  const trade = positions.find((position) => position.trade.index === call.index)?.trade;
  const slippage = calls.find(({ name, index }) => name === 'updateMaxClosingSlippageP' && index === call.index);
  // The bound of a close without its own slippage is the contract's.
  if (expected === null || trade === undefined || slippage === undefined) return true;
  const price = priceOf(trade.pairIndex);
  const slippageP = BigInt(decodeAbiParameters(SLIPPAGE, argumentsOf(slippage.data))[1]);
  if (price === null) return true;
  const room = (expected * slippageP) / WHOLE;
  return trade.long ? price >= expected - room : price <= expected + room;
}

function expectedPriceOf({ name, data }: Call): bigint | null {
  if (name === 'closeTradeMarket') return decodeAbiParameters(CLOSE, argumentsOf(data))[1];
  return name === 'decreasePositionSize' ? decodeAbiParameters(DECREASE, argumentsOf(data))[3] : null;
}

interface Sized {
  readonly tradeIndex?: number;
  readonly collateralAmount?: bigint;
}

/** The collateral of the trade when the job was made; null where the job does not depend on it. */
function collateralIn({ context }: RelayJob, index: number): bigint | null {
  const facts = (context as { readonly context?: Sized & { readonly trades?: readonly Sized[] } } | null)?.context;
  const sized = facts?.trades?.find(({ tradeIndex }) => tradeIndex === index) ?? (facts?.tradeIndex === index ? facts : undefined);
  return sized?.collateralAmount ?? null;
}
