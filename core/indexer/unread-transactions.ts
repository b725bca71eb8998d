import type { ChainEvent, PositionFound } from '../domain/chain-event.js';
import type { DiamondLog, LogPlace, TransactionReceipt } from '../domain/diamond-log.js';
import { figuresOf, plainTerms } from '../domain/interpret-executions.js';
import { mayHoldOutcome, unaccounted, type Unaccounted } from '../domain/unaccounted.js';
import type { Venue, Gateway } from '../gateway.js';
import type { LogRange } from '../ports/chain.js';
import type { OpenOrders } from '../ports/account-chain.js';
import { logKey } from '../ports/stores/tracking.js';
import type { Address, Hex } from '../types.js';
import { entryPriceOf, transactionsOf } from './interpret-range.js';

/** A range of logs, with what the receipts of some transactions say beyond it. */
export interface ReadRange extends LogRange {
  /** Transactions whose outcome is in logs which cannot be read. */
  readonly unread: readonly TransactionReceipt[];
}

/**
 * Nodes are asked for the events that this release knows, so an outcome under another topic is not among them. Where an outcome
 * is missing, the receipt decides: it has every log. `known`: logs that are stored, and need no second look.
 */
export async function withReceipts({ chain }: Venue, range: LogRange, known: ReadonlySet<string> = new Set()): Promise<ReadRange> {
  const missing = transactionsOf(range.logs)
    .flatMap(unaccounted)
    .filter(({ place }) => !known.has(logKey(place)));
  if (missing.length === 0) return { ...range, unread: [] };
  const places = [...new Map(missing.map(({ place }) => [place.txHash, placeOf(place)])).values()];
  const receipts = await chain.receipts(places);
  const read = new Set(places.map(({ txHash }) => txHash));
  // A node may have served a part of a transaction's logs.
  const logs = [...range.logs.filter(({ place }) => !read.has(place.txHash)), ...receipts.flatMap((receipt) => receipt.logs)];
  return { ...range, logs: logs.sort(byPlace), unread: receipts.filter(mayHoldOutcome) };
}

const placeOf = ({ blockNumber, blockHash, txHash, at }: LogPlace): TransactionReceipt['place'] => ({ blockNumber, blockHash, txHash, at });

const byPlace = ({ place: a }: DiamondLog, { place: b }: DiamondLog): number =>
  a.blockNumber === b.blockNumber ? a.logIndex - b.logIndex : Number(a.blockNumber - b.blockNumber);

export const hashesOf = (unread: readonly TransactionReceipt[]): ReadonlySet<Hex> => new Set(unread.map(({ place }) => place.txHash));

/** The trades of those who traded there, as the chain has them after that block: they can still be closed. */
export async function tradesAfter(gateway: Gateway, venue: Venue, unread: readonly TransactionReceipt[]): Promise<ChainEvent[]> {
  const open = unread.flatMap(({ logs }) => unaccounted(logs));
  const distinct = new Map<string, Unaccounted[]>();
  for (const one of open) {
    const key = `${one.trader} ${one.place.blockNumber}`;
    distinct.set(key, [...(distinct.get(key) ?? []), one]);
  }
  return (await Promise.all([...distinct.values()].map((own) => rereadTrades(gateway, venue, own)))).flat();
}

/** `own`: what one block leaves open about one trader. */
async function rereadTrades({ store }: Gateway, venue: Venue, own: readonly Unaccounted[]): Promise<PositionFound[]> {
  const { definition, log } = venue;
  const last = own.at(-1);
  if (last === undefined) return [];
  const { trader, place: lastPlace } = last;
  const { blockNumber, at } = lastPlace;
  const open = await openAfter(venue, trader, blockNumber);
  if (open === null) {
    log.warn('chain.trades-not-read-again', { block: blockNumber });
    return [];
  }
  const stored = await store.account.openPositions(definition.slug, trader);
  const place = { blockNumber, blockHash: null, txHash: null, logIndex: null, at };
  const common = { kind: 'found', trader, orderKey: null, place, isReread: true } as const;
  const isKnown = (found: PositionFound): boolean => {
    const position = stored.find(({ tradeIndex }) => tradeIndex === found.tradeIndex)?.position;
    return (
      position !== undefined && FIGURES.every((name) => found.trade[name] === position[name]) && found.slippageP === position.slippageP
    );
  };
  const found = open.positions.map(({ trade, info }): PositionFound => ({
    ...common,
    tradeIndex: trade.index,
    trade: figuresOf(trade),
    isOpen: true,
    slippageP: BigInt(info.maxSlippageP),
    openedBlock: BigInt(info.createdBlock),
    ...entryPriceOf(info),
  }));
  const gone = stored.flatMap(({ tradeIndex, position }): PositionFound[] => {
    if (found.some((one) => one.tradeIndex === tradeIndex)) return [];
    const { slippageP, openedBlock } = position;
    const trade = { ...plainTerms(position), sizeToken: position.sizeToken, isCounterTrade: position.isCounterTrade };
    // After the logs that precede its end in that block; without the log of its end, before them.
    const closed = own.find(({ orderKey, isDone }) => isDone && orderKey === `resting:${tradeIndex}`)?.place;
    const end = { place: closed ?? place, goneIn: (closed ?? lastPlace).txHash };
    return [{ ...common, ...end, tradeIndex, trade, isOpen: false, slippageP, openedBlock }];
  });
  return [...found.filter((one) => !isKnown(one)), ...gone];
}

/**
 * Null where the contract does not list trades. Any other failure stops the step, which is done again: without these trades a position could not
 * be closed. A node without the state of an old block is asked for the current one, which later events do not contradict.
 */
async function openAfter({ chain, log }: Venue, trader: Address, block: bigint): Promise<OpenOrders | null> {
  try {
    return await chain.openOrders(trader, block);
  } catch (error) {
    log.debug('chain.old-state-missing', { block, error });
    return chain.openOrders(trader, null);
  }
}

const FIGURES = ['collateralAmount', 'leverage', 'openPrice', 'tp', 'sl', 'sizeToken'] as const;
