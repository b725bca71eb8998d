import { lostRowNote } from './lost-row.js';
import { untilContinuityKnown } from '../access/after-loss.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address, Hex } from '../types.js';
import { statusOrLastKnown, viewOf, type AgentView } from '../access/agent-status.js';
import { collateralOf, describeOrder, LEVERAGE_SCALE, priceOf, tradeSize, type Order } from './describe-order.js';
import { marketName, type MarketConfig } from '../domain/market.js';
import { describeFill, type FillHistoryEntry } from './list-orders.js';
import { isWithdrawal } from '../domain/chain-event.js';
import { decimal, type Decimal } from '../domain/decimal.js';
import type { PositionState } from '../domain/position.js';
import { E18, E8 } from '../domain/pricing/units.js';
import type { JournalEntry, JournalFact } from '../ports/stores/journal.js';

export interface EventsQuery {
  readonly after: number;
  readonly limit: number;
}

export interface EventPage {
  data: JournalEvent[];
  /** Cursor of the next page; null on the last page. */
  nextCursor: number | null;
}

/** The account's journal events, oldest first. */
export async function listEvents(gateway: Gateway, venue: Venue, trader: Address, { after, limit }: EventsQuery): Promise<EventPage> {
  const { slug } = venue.definition;
  await refuseLost(gateway, venue, trader, after);
  const found = await gateway.store.journal.after(slug, trader, BigInt(after), limit + 1);
  if (found.length === 0 && after > 0) await requireKnown(gateway, venue, trader, after);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    data: await describeEntries(gateway, venue, trader, page),
    nextCursor: found.length > limit && last ? Number(last.cursor) : null,
  };
}

/** Rejects a cursor above the newest one: a client waiting there would silently miss every event up to it. */
export async function requireKnown(gateway: Gateway, venue: Venue, trader: Address, after: number): Promise<void> {
  const { store, clock } = gateway;
  await refuseLost(gateway, venue, trader, after);
  const last = await store.journal.last(venue.definition.slug, trader);
  if (BigInt(after) <= last) return;
  // The database may have forgotten it a moment ago.
  await untilContinuityKnown(store.continuity, clock);
  await refuseLost(gateway, venue, trader, after);
  throw new GatewayError('VALIDATION_ERROR', {
    issues: [{ path: 'after', message: `is no cursor of this account, whose newest is ${last}` }],
  });
}

/** Rejects a cursor whose entry was lost with commits of the database: what it stood for may never have happened. */
async function refuseLost({ store }: Gateway, { definition: { slug } }: Venue, trader: Address, after: number): Promise<void> {
  const cursor = BigInt(after);
  if (after === 0 || store.continuity.lastLoss() === null || !(await store.continuity.isCursorLost(slug, trader, cursor))) return;
  throw new GatewayError('VALIDATION_ERROR', {
    issues: [{ path: 'after', message: 'is a cursor of what the database lost: read orders and positions again' }],
    cursorLost: true,
    resumeAfter: Number(await store.journal.upTo(slug, trader, cursor)),
  });
}

/** A position with the figures that events contain; price-dependent figures are only in the list of positions. */
interface JournalPosition {
  id: string;
  market: string;
  pairIndex: number;
  side: 'long' | 'short';
  size: Decimal;
  collateral: Decimal;
  collateralSymbol: string;
  leverage: Decimal;
  entryPrice: Decimal;
  sl: Decimal;
  tp: Decimal;
  isOpen: boolean;
  openedAtBlock: number;
}

/** Profit withdrawn from a position that stays open. */
interface Withdrawal {
  id: number;
  positionId: string;
  market: string;
  collateralSymbol: string;
  /** In collateral. */
  amount: Decimal;
  /** The oracle's. */
  price: Decimal;
  timestamp: number;
  txHash: Hex;
}

/** A reorganisation reverted something; `now` is the current state, null where nothing is left. */
type Correction =
  | { of: 'order'; id: string; now: Order | null }
  | { of: 'fill'; id: number; now: null }
  | { of: 'withdrawal'; id: number; now: null }
  | { of: 'position'; id: string; now: JournalPosition | null };

export type JournalEvent = { cursor: number; at: number } & (
  | { kind: 'order'; data: Order; note: string | null }
  | { kind: 'fill'; data: FillHistoryEntry }
  | { kind: 'withdrawal'; data: Withdrawal }
  | { kind: 'position'; data: JournalPosition }
  | { kind: 'agent'; data: AgentView }
  | { kind: 'correction'; data: Correction }
);

/** Journal entries of one account in API format, in the same order. An agent's status is the current one, if a node answers. */
export async function describeEntries(
  gateway: Gateway,
  venue: Venue,
  trader: Address,
  entries: readonly JournalEntry[],
): Promise<JournalEvent[]> {
  if (entries.length === 0) return [];
  const ids = await gateway.store.account.positionIds(
    venue.definition.slug,
    trader,
    entries.flatMap(({ fact }) => tradeIndexOf(fact) ?? []),
  );
  const described = await Promise.all(
    entries.map(async ({ cursor, at, fact }) => {
      const event = await describeFact(gateway, venue, fact, ids);
      return event === null ? [] : [{ cursor: Number(cursor), at, ...event }];
    }),
  );
  return described.flat();
}

/** The trade whose position id must be looked up, or null. */
function tradeIndexOf(fact: JournalFact): number | null {
  if (fact.kind === 'fill') return fact.executed.tradeIndex;
  const order = fact.kind === 'order' ? fact.order : fact.kind === 'correction' && fact.of.kind === 'order' ? fact.of.order : null;
  return order?.fill?.tradeIndex ?? null;
}

type Ids = ReadonlyMap<number, bigint>;
type DescribedFact = JournalEvent extends infer Event ? (Event extends JournalEvent ? Omit<Event, 'cursor' | 'at'> : never) : never;

/** null for facts that are not published. */
async function describeFact({ store }: Gateway, venue: Venue, fact: JournalFact, ids: Ids): Promise<DescribedFact | null> {
  switch (fact.kind) {
    case 'order':
      return {
        kind: 'order',
        data: describeOrder(venue.feed.config(), fact, ids),
        note: lostRowNote(fact.order, store.continuity.lastLoss()),
      };
    case 'fill': {
      if (isWithdrawal(fact.executed)) return describeWithdrawal(venue.feed.config(), fact, ids);
      const data = describeFill(venue.feed.config(), fact, ids);
      return data && { kind: 'fill', data };
    }
    case 'position':
      return { kind: 'position', data: describeState(venue.feed.config(), fact.id, fact.position) };
    case 'agent':
      return { kind: 'agent', data: viewOf(fact.agent, await statusOrLastKnown(venue, fact.agent)) };
    case 'correction':
      return { kind: 'correction', data: describeCorrection(venue.feed.config(), fact.of, ids) };
  }
}

function describeWithdrawal(
  config: MarketConfig,
  { id, executed }: Extract<JournalFact, { kind: 'fill' }>,
  ids: Ids,
): DescribedFact | null {
  const { terms, place, tradeIndex } = executed;
  const positionId = ids.get(tradeIndex);
  if (positionId === undefined || place.txHash === null) return null;
  const collateral = collateralOf(config, terms.collateralIndex);
  return {
    kind: 'withdrawal',
    data: {
      id: Number(id),
      positionId: positionId.toString(),
      market: marketName(config, terms.pairIndex),
      collateralSymbol: collateral?.symbol ?? `#${terms.collateralIndex}`,
      amount: decimal(executed.collateral, collateral?.decimals ?? 18),
      price: priceOf(executed.price),
      timestamp: place.at,
      txHash: place.txHash,
    },
  };
}

function describeCorrection(config: MarketConfig, of: Extract<JournalFact, { kind: 'correction' }>['of'], ids: Ids): Correction {
  switch (of.kind) {
    case 'order':
      return { of: 'order', id: of.id.toString(), now: of.order && describeOrder(config, { id: of.id, order: of.order }, ids) };
    case 'fill':
      return { of: isWithdrawal(of.executed) ? 'withdrawal' : 'fill', id: Number(of.id), now: null };
    case 'position':
      return { of: 'position', id: of.id.toString(), now: of.position && describeState(config, of.id, of.position) };
  }
}

function describeState(config: MarketConfig, id: bigint, position: PositionState): JournalPosition {
  const collateral = collateralOf(config, position.collateralIndex);
  const priceUsd = collateral?.priceUsd ?? E8;
  return {
    id: id.toString(),
    market: marketName(config, position.pairIndex),
    pairIndex: position.pairIndex,
    side: position.long ? 'long' : 'short',
    size: tradeSize(position, { precision: collateral?.precision ?? E18, priceUsd }),
    collateral: decimal(position.collateralAmount, collateral?.decimals ?? 18),
    collateralSymbol: collateral?.symbol ?? `#${position.collateralIndex}`,
    leverage: decimal(position.leverage, LEVERAGE_SCALE),
    entryPrice: priceOf(position.openPrice),
    sl: priceOf(position.sl),
    tp: priceOf(position.tp),
    isOpen: position.isOpen,
    openedAtBlock: Number(position.openedBlock),
  };
}
