import { triggersUnderWay } from './triggers.js';
import { Wallet } from 'ethers';
import { order, orderAction, postExchange, signL1 } from '../hyperliquid/exchange.js';
import { hlInfo } from '../hyperliquid/info.js';
import { eventually } from '../time/eventually.js';
import type { TestVenue } from '../venue/own-venue.js';
import type { ChainTrader } from './chain-trader.js';
import { FACADE_CHAIN, newFacadeTrader } from './facade-trader.js';

/** A bot with trades in bitcoin at 60,000, and its stop losses. */
const BTC = 0;
export const LEVEL_PRICE = 60_000;

export interface Listed {
  readonly oid: number;
  readonly sz: string;
  readonly triggerPx: string;
  readonly cloid: string | null;
}

export interface LevelBot {
  readonly trader: ChainTrader;
  readonly user: `0x${string}`;
  ask(action: Record<string, unknown>): Promise<unknown>;
  /** The statuses of an action with several items. */
  send(action: Record<string, unknown>): Promise<unknown[]>;
  /** The oid of the one order, once nothing is under way any more. */
  place(placed: Parameters<typeof orderAction>[0]): Promise<number>;
  /** Opens a trade of this size, and waits until it is stored as the trade of this number. */
  open(size: string, count: number): Promise<void>;
  /** So many trades are stored. */
  tradesBecome(count: number): Promise<unknown>;
  /** What is shown of an open order; the status of another one. */
  statusOf(oid: number | string): Promise<Listed | string>;
  /** The open orders by both requests for them, which must agree. */
  listed(): Promise<Listed[]>;
  /** The stop losses of the trades on chain. */
  stops(): Promise<bigint[]>;
  /** The stored stop losses are these. */
  stopsBecome(isThere: (stops: readonly bigint[]) => boolean): Promise<bigint[]>;
  isQuiet(): Promise<unknown>;
}

export async function newLevelBot(sandbox: TestVenue): Promise<LevelBot> {
  const { trader, address, agentKey } = await newFacadeTrader(sandbox);
  const user = address.toLowerCase() as `0x${string}`;
  const { account } = sandbox.gateway.store;
  const info = hlInfo(sandbox);
  const ask: LevelBot['ask'] = async (action) =>
    (await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(agentKey), action))).body;
  const send: LevelBot['send'] = async (action) =>
    ((await ask(action)) as { response: { data: { statuses: unknown[] } } }).response.data.statuses;
  const isQuiet = () =>
    eventually(
      () => triggersUnderWay(sandbox.gateway.store, FACADE_CHAIN, user),
      ({ length }) => length === 0,
    );
  const shown = ({ oid, sz, triggerPx, cloid }: Listed): Listed => ({ oid, sz: roundSize(sz), triggerPx, cloid });
  const place: LevelBot['place'] = async (placed) => {
    const [status] = await send(orderAction(placed));
    const answered = status as Record<string, { oid: number } | undefined> | undefined;
    const oid = (answered?.['resting'] ?? answered?.['filled'])?.oid;
    if (oid === undefined) throw new Error(`not placed: ${JSON.stringify(status)}`);
    await isQuiet();
    return oid;
  };
  const tradesBecome: LevelBot['tradesBecome'] = (count) =>
    eventually(
      () => account.openPositions(FACADE_CHAIN, user),
      ({ length }) => length === count,
    );
  return {
    ...{ trader, user, ask, send, place, isQuiet },
    tradesBecome,
    async open(size, count) {
      await place(buy(size));
      await tradesBecome(count);
    },
    async statusOf(oid) {
      const { order: found } = await info.ask<{ order: { status: string; order: Listed } }>('orderStatus', { user, oid });
      return found.status === 'open' ? shown(found.order) : found.status;
    },
    async listed() {
      const open = await info.ask<(Pick<Listed, 'oid' | 'sz'> & { cloid?: string | null })[]>('openOrders', { user });
      const all = await info.ask<Listed[]>('frontendOpenOrders', { user });
      const named = ({ oid, sz, cloid = null }: (typeof open)[number]) => ({ oid, sz, cloid });
      expect(open.map(named)).toEqual(all.map(named));
      return all.map(shown);
    },
    stops: async () => (await trader.trades()).map(({ sl }) => sl),
    stopsBecome: (isThere) =>
      eventually(
        async () => (await account.openPositions(FACADE_CHAIN, user)).map(({ position }) => position.sl),
        (stops) => isThere(stops),
      ),
  };
}

/** The gateway has this price. */
export async function jumpTo({ controls, gateway }: TestVenue, price: number): Promise<void> {
  controls.prices.jump(BTC, String(price));
  await eventually(
    () => gateway.venues.get(FACADE_CHAIN)?.feed.lastPrice(BTC)?.oracle,
    (oracle) => oracle === units(price),
  );
}

/** Prices walk between an order and its fill, which changes the size of the trade in its last digits. */
const roundSize = (sz: string): string => String(Number(Number(sz).toFixed(3)));
export const units = (price: number): bigint => BigInt(price) * 10n ** 10n;
export const cancel = (oid: number) => ({ type: 'cancel', cancels: [{ a: BTC, o: oid }] });
export const cancelNamed = (cloid: string) => ({ type: 'cancelByCloid', cancels: [{ asset: BTC, cloid }] });
export const changeOf = (oid: number | string, to: object) => ({ type: 'batchModify', modifies: [{ oid, order: to }] });
export const buy = (s: string) => order({ a: BTC, b: true, p: String(LEVEL_PRICE * 1.05), s, r: false, t: { limit: { tif: 'Ioc' } } });
export const sell = (s: string) => order({ a: BTC, b: false, p: String(LEVEL_PRICE * 0.95), s, r: true, t: { limit: { tif: 'Ioc' } } });
const level = (tpsl: 'tp' | 'sl') => (triggerPx: string, s: string, c: string) =>
  order({ a: BTC, b: false, p: triggerPx, s, r: true, t: { trigger: { isMarket: true, triggerPx, tpsl } }, c });
export const stop = level('sl');
export const takeProfit = level('tp');
/** Only asks whether the cloid is free: none of this size can be placed. */
export const named = (c: string) => orderAction(stop('55000', '0.05', c));
