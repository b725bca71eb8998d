import { z } from 'zod';
import type { AgentCaller } from '../../core/access/caller.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { KeptAction } from '../../core/ports/stores/signers.js';
import type { ExchangeReply } from '../reply.js';

/** The actions that trade, as their canonical forms: keys in Hyperliquid's order, decimals and hex in their one spelling. */

const Asset = z.int('must be an asset id').min(0, 'must be an asset id');
const Oid = z.int('must be an order id').min(0, 'must be an order id');
const Flag = z.boolean('must be true or false');
const Decimal = z
  .string('must be a decimal in quotes')
  .max(64, 'is too long')
  .regex(/^\d+(?:\.\d*)?$/, 'must be a plain decimal')
  .transform(shortest);
const Cloid = z
  .string('must be 0x and 32 hex digits')
  .regex(/^0x[0-9a-f]{32}$/i, 'must be 0x and 32 hex digits')
  .transform((text) => text.toLowerCase() as `0x${string}`);
const Address = z
  .string('must be an address')
  .regex(/^0x[0-9a-f]{40}$/i, 'must be an address')
  .transform((text) => text.toLowerCase() as `0x${string}`);

/** Clients omit an optional key or send null; only given keys are hashed. */
const optional = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().transform((value) => value ?? undefined);

/** `0100.50` → `100.5`. */
function shortest(text: string): string {
  const [whole = '', fraction = ''] = text.split('.');
  const digits = whole.replace(/^0+(?=\d)/, '');
  const kept = fraction.replace(/0+$/, '');
  return kept === '' ? digits : `${digits}.${kept}`;
}

/** Older clients write some keys out. An object with both spellings is ambiguous and refused. */
const aliased = <Schema extends z.ZodType>(aliases: Readonly<Record<string, string>>, schema: Schema) =>
  z.preprocess((value, context) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const given = new Map(Object.entries(value));
    for (const [long, short] of Object.entries(aliases)) {
      if (given.has(long) && given.has(short)) context.addIssue({ code: 'custom', message: `is given as ${short} too`, path: [long] });
      if (given.has(long) && !given.has(short)) given.set(short, given.get(long));
    }
    return Object.fromEntries(given);
  }, schema);

export const TIFS = ['Gtc', 'Ioc', 'Alo', 'FrontendMarket', 'LiquidationMarket'] as const;

const Limit = z.object({ limit: z.object({ tif: z.enum(TIFS, `must be one of ${TIFS.join(', ')}`) }) });
const Trigger = z.object({
  trigger: z.object({ isMarket: Flag, triggerPx: Decimal, tpsl: z.enum(['tp', 'sl'], 'must be tp or sl') }),
});

const isEither = (given: unknown): boolean => {
  const { limit, trigger } = (given ?? {}) as { readonly limit?: unknown; readonly trigger?: unknown };
  return (limit ?? null) === null || (trigger ?? null) === null;
};
const OrderType = z
  .unknown()
  .refine(isEither, 'must be a limit or a trigger, not both')
  .pipe(z.union([Limit, Trigger], 'must be {limit: {tif}} or {trigger: {isMarket, triggerPx, tpsl}}'));

const LONG_NAMES = { asset: 'a', isBuy: 'b', limitPx: 'p', sz: 's', reduceOnly: 'r', orderType: 't', cloid: 'c' };
const Order = aliased(
  LONG_NAMES,
  z.object({
    a: Asset,
    b: Flag,
    p: Decimal,
    s: Decimal,
    r: Flag,
    t: OrderType,
    c: optional(Cloid),
  }),
);

const Grouping = z.union(
  [z.enum(['na', 'normalTpsl', 'positionTpsl']), z.object({ p: z.int() })],
  'must be na, normalTpsl, positionTpsl or {p}',
);
const Target = z.union([Oid, Cloid], 'must be an order id or a cloid');

export const TRADE_SCHEMAS = {
  order: z.object({
    type: z.literal('order'),
    orders: z.array(Order),
    grouping: Grouping,
    builder: optional(z.object({ b: Address, f: z.int() })),
  }),
  cancel: z.object({
    type: z.literal('cancel'),
    cancels: z.array(aliased({ asset: 'a', oid: 'o' }, z.object({ a: Asset, o: Oid }))),
    f: optional(Flag),
  }),
  cancelByCloid: z.object({
    type: z.literal('cancelByCloid'),
    cancels: z.array(z.object({ asset: Asset, cloid: Cloid })),
    f: optional(Flag),
  }),
  modify: z.object({ type: z.literal('modify'), oid: Target, order: Order, a: optional(Flag) }),
  batchModify: z.object({
    type: z.literal('batchModify'),
    modifies: z.array(z.object({ oid: Target, order: Order })),
    a: optional(Flag),
  }),
  scheduleCancel: z.object({ type: z.literal('scheduleCancel'), time: optional(z.int('must be an integer, in milliseconds').min(0)) }),
  updateLeverage: aliased(
    { a: 'asset' },
    z.object({ type: z.literal('updateLeverage'), asset: Asset, isCross: Flag, leverage: z.int('must be an integer').min(0) }),
  ),
  updateIsolatedMargin: z.object({
    type: z.literal('updateIsolatedMargin'),
    asset: Asset,
    isBuy: Flag,
    ntli: z.int('must be an integer, in millionths of a dollar'),
  }),
} as const;

export type TradeType = keyof typeof TRADE_SCHEMAS;
export type TradeActionOf<Type extends TradeType> = z.output<(typeof TRADE_SCHEMAS)[Type]>;
export type TradeAction = { [Type in TradeType]: TradeActionOf<Type> }[TradeType];
export type WireOrder = z.output<typeof Order>;

export const isTradeType = (type: string): type is TradeType => Object.hasOwn(TRADE_SCHEMAS, type);

/** The number of orders, cancels or changes in one action. */
export function itemsOf(action: TradeAction): number {
  if (action.type === 'order') return action.orders.length;
  if (action.type === 'cancel' || action.type === 'cancelByCloid') return action.cancels.length;
  return action.type === 'batchModify' ? action.modifies.length : 1;
}

/** The orders as intended: position TP/SL never open a position, whatever their flag says. */
export const ordersOf = ({ orders, grouping }: TradeActionOf<'order'>): readonly WireOrder[] =>
  grouping === 'positionTpsl' ? orders.map((each) => ({ ...each, r: true })) : orders;

/** Whether it can increase a position; other actions are counted apart, so that a busy bot can always close. */
export function opensRisk(action: TradeAction): boolean {
  if (action.type === 'order') return ordersOf(action).some(({ r }) => !r);
  if (action.type === 'modify') return !action.order.r;
  return action.type === 'batchModify' && action.modifies.some(({ order }) => !order.r);
}

const CLOSES_NOW: ReadonlySet<string> = new Set<(typeof TIFS)[number]>(['Ioc', 'FrontendMarket', 'LiquidationMarket']);

/** Orders that close immediately. A reduce-only order that may rest changes a take profit, which costs as much as an order. */
const isClose = ({ r, t }: WireOrder): boolean => r && 'limit' in t && CLOSES_NOW.has(t.limit.tif);

/** Orders and changes that count towards the trader's item limit; cancels and closes are free. */
export function countedItems(action: TradeAction): number {
  switch (action.type) {
    case 'order':
      return ordersOf(action).filter((order) => !isClose(order)).length;
    case 'batchModify':
      return action.modifies.length;
    case 'modify':
    case 'updateIsolatedMargin':
      return 1;
    case 'cancel':
    case 'cancelByCloid':
    case 'scheduleCancel':
    case 'updateLeverage':
      return 0;
  }
}

/** An admitted action: signed by an agent, with its nonce used, its proof stored, and its limits and delegation checked. */
export interface TradeContext extends KeptAction {
  readonly gateway: Gateway;
  readonly venue: Venue;
  /** `sender` is the relayer wallet that serves the trader. */
  readonly caller: AgentCaller;
}

export type TradeHandler<Type extends TradeType> = (context: TradeContext, action: TradeActionOf<Type>) => Promise<ExchangeReply>;

/** One handler per trading action; the type requires all of them. Errors of the catalogue become `err` replies. */
export type TradeHandlers = { readonly [Type in TradeType]: TradeHandler<Type> };
