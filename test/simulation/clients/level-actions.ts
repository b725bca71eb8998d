import type { LevelTerms } from '../level-plan.js';
import { LIMIT, type FacadeCalls } from './facade-bot.js';
import { levelPrice, START_PRICE, type ClientRequest } from './surroundings.js';

/** What a bot of the facade does with take profits and stop losses of a position that consists of several trades. */
export interface LevelActions {
  openSameSide(options: { readonly isBuy: boolean; readonly size: string }): Promise<void>;
  /** An opening with a take profit and a stop loss. */
  openWithLevels(options: { readonly isBuy: boolean; readonly size: string; readonly distance: number }): Promise<void>;
  /** An order that rests, with a take profit and a stop loss. */
  restWithLevels(options: { readonly isBuy: boolean; readonly size: string; readonly terms: LevelTerms }): Promise<void>;
  /** Gives one of these orders another price: its take profit and stop loss end. */
  changeRest(terms: LevelTerms, choose: (count: number) => number): Promise<void>;
  cancelRest(terms: LevelTerms, choose: (count: number) => number): Promise<void>;
  setLevel(terms: LevelTerms, choose: (count: number) => number): Promise<void>;
  /** Replaces one of its levels, which may be over, by one with these terms. */
  changeLevel(terms: LevelTerms, choose: (count: number) => number): Promise<void>;
  cancelLevel(terms: LevelTerms, choose: (count: number) => number): Promise<void>;
  /** Asks for its open orders and for the status of one level. */
  listLevels(terms: LevelTerms, choose: (count: number) => number): Promise<void>;
  closeOldest(): Promise<void>;
  /** The contract may move a stop loss when the collateral of its trade gets smaller. */
  takeMargin(): Promise<void>;
}

interface Level {
  readonly request: ClientRequest;
  readonly tpsl: LevelTerms['tpsl'];
  /** The order that rests, or rested, with it. */
  readonly parent?: Resting;
}

interface Resting {
  readonly request: ClientRequest;
  readonly isBuy: boolean;
  readonly size: string;
  readonly price: number;
}

/** Smaller than any trade: the answer names the sizes of the oldest trades. */
const TOO_SMALL = '0.0001';
const SIZES = /the sizes that do are ([\d., ]+)\./;
/** Shares of the start price between that price and an order that rests. */
const FAR = 0.15;
const NEAR = 0.012;
/** Millionths of a dollar. */
const MARGIN = 5_000_000;

export function createLevelActions({ info, position, place, change, cancel, changeMargin }: FacadeCalls): LevelActions {
  const levels: Level[] = [];
  const resting: Resting[] = [];

  const chosenOf = (choose: (count: number) => number): Level | undefined => levels[choose(levels.length)];

  /** As a bot can name an order: by the number that it was given, or by its own. */
  function nameOf({ answers, id }: ClientRequest, name: LevelTerms['name']): number | string {
    const oid = answers.find(({ orderId }) => orderId !== null)?.orderId ?? null;
    return name === 'oid' && oid !== null ? Number(oid) : id;
  }

  const orderOf = (held: number, size: string, { tpsl, distance }: Pick<LevelTerms, 'tpsl' | 'distance'>) => ({
    b: held < 0,
    p: held > 0 ? LIMIT.sell : LIMIT.buy,
    s: size,
    r: true,
    t: { trigger: { isMarket: true, triggerPx: levelPrice(held > 0, { isProfit: tpsl === 'tp', distance }), tpsl } },
  });

  /** Sizes of the oldest trade, the two oldest and so on, as the refusal of another size names them. */
  async function partsOf(held: number, terms: Pick<LevelTerms, 'tpsl' | 'distance'>): Promise<readonly string[]> {
    const [refused] = await place('sizes', [orderOf(held, TOO_SMALL, terms)]);
    const text = refused?.answers.find(({ status }) => SIZES.test(status))?.status ?? '';
    return SIZES.exec(text)?.[1]?.split(', ') ?? [];
  }

  async function sizeOf(held: number, terms: LevelTerms, choose: (count: number) => number): Promise<string> {
    const parts = terms.covers === 'part' ? await partsOf(held, terms) : [];
    return parts[choose(parts.length)] ?? String(Math.abs(held));
  }

  const opening = ({ isBuy, size }: { readonly isBuy: boolean; readonly size: string }) => ({
    b: isBuy,
    p: isBuy ? LIMIT.buy : LIMIT.sell,
    s: size,
    t: { limit: { tif: 'Ioc' } },
  });

  const restOf = ({ isBuy, size, price }: Pick<Resting, 'isBuy' | 'size' | 'price'>) => ({
    b: isBuy,
    p: String(price),
    s: size,
    r: false,
    t: { limit: { tif: 'Gtc' } },
  });

  const childOf = (
    { isBuy, size, price }: Pick<Resting, 'isBuy' | 'size' | 'price'>,
    { tpsl, distance }: Pick<LevelTerms, 'tpsl' | 'distance'>,
  ) => {
    const triggerPx = String(Math.round(price * ((tpsl === 'tp') === isBuy ? 1 + distance : 1 - distance)));
    return { b: !isBuy, p: isBuy ? LIMIT.sell : LIMIT.buy, s: size, r: true, t: { trigger: { isMarket: true, triggerPx, tpsl } } };
  };

  return {
    async restWithLevels({ isBuy, size, terms }) {
      const away = terms.isNear === true ? NEAR : FAR;
      const price = Math.round(START_PRICE * (isBuy ? 1 - away : 1 + away));
      const rests = { isBuy, size, price };
      const kinds = ['tp', 'sl'] as const;
      const children = kinds.map((tpsl) => childOf(rests, { ...terms, tpsl }));
      const [request, ...requests] = await place('level', [restOf(rests), ...children], { grouping: 'normalTpsl' });
      if (request === undefined) return;
      const parent = { ...rests, request };
      resting.push(parent);
      for (const [at, child] of requests.entries()) levels.push({ request: child, tpsl: kinds[at] ?? 'sl', parent });
    },
    async changeRest({ name, keepsCloid, isNear }, choose) {
      const chosen = resting[choose(resting.length)];
      if (chosen === undefined) return;
      const price = Math.round(chosen.price * (isNear === true ? 1.001 : 0.999));
      const request = await change(chosen.request, nameOf(chosen.request, name), restOf({ ...chosen, price }), keepsCloid);
      resting.push({ ...chosen, price, request });
    },
    async cancelRest({ name }, choose) {
      const chosen = resting[choose(resting.length)];
      if (chosen !== undefined) await cancel(chosen.request, nameOf(chosen.request, name));
    },
    async openSameSide({ isBuy, size }) {
      const held = await position();
      await place('open', [opening({ isBuy: held === 0 ? isBuy : held > 0, size })]);
    },
    async openWithLevels({ isBuy, size, distance }) {
      const held = await position();
      const opened = opening({ isBuy: held === 0 ? isBuy : held > 0, size });
      const side = opened.b ? 1 : -1;
      const children = (['tp', 'sl'] as const).map((tpsl) => ({ tpsl, order: orderOf(side, size, { tpsl, distance }) }));
      const [, ...requests] = await place('level', [opened, ...children.map((child) => child.order)], { grouping: 'normalTpsl' });
      for (const [at, request] of requests.entries()) levels.push({ request, tpsl: children[at]?.tpsl ?? 'sl' });
    },
    async setLevel(terms, choose) {
      const held = await position();
      if (held === 0) return;
      const size = await sizeOf(held, terms, choose);
      const [request] = await place('level', [orderOf(held, size, terms)], { grouping: terms.grouping });
      if (request !== undefined) levels.push({ request, tpsl: terms.tpsl });
    },
    async changeLevel(terms, choose) {
      const [chosen, held] = [chosenOf(choose), await position()];
      if (chosen === undefined || (held === 0 && chosen.parent === undefined)) return;
      const { request, tpsl, parent } = chosen;
      const named = nameOf(request, terms.name);
      const to = parent
        ? childOf(parent, { ...terms, tpsl })
        : orderOf(held, await sizeOf(held, { ...terms, tpsl }, choose), { ...terms, tpsl });
      levels.push({ ...chosen, request: await change(request, named, to, terms.keepsCloid) });
    },
    async cancelLevel({ name }, choose) {
      const chosen = chosenOf(choose);
      if (chosen !== undefined) await cancel(chosen.request, nameOf(chosen.request, name));
    },
    async listLevels({ name }, choose) {
      await info('openOrders', {});
      await info('frontendOpenOrders', {});
      const chosen = chosenOf(choose);
      if (chosen !== undefined) await info('orderStatus', { oid: nameOf(chosen.request, name) });
    },
    async closeOldest() {
      const held = await position();
      if (held === 0) return;
      const [oldest = String(Math.abs(held))] = await partsOf(held, { tpsl: 'sl', distance: 0.03 });
      await place('close', [{ b: held < 0, p: held < 0 ? LIMIT.buy : LIMIT.sell, s: oldest, r: true, t: { limit: { tif: 'Ioc' } } }]);
    },
    async takeMargin() {
      await changeMargin(-MARGIN);
    },
  };
}
