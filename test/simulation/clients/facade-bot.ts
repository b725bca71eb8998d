import { createHash } from 'node:crypto';
import { Wallet } from 'ethers';
import type { Hex } from '../../../core/types.js';
import { approveAgent, order, orderAction, signL1, type ExchangeBody } from '../../harness/hyperliquid/exchange.js';
import { asksForPatience, postJson, type HttpAnswer } from './http-client.js';
import { createLevelActions, type LevelActions } from './level-actions.js';
import { levelPrice, moved, type Surroundings, type ClientRequest } from './surroundings.js';

/** A bot of the Hyperliquid api: it repeats what it has signed until it gets an answer, as the public clients do. */
export interface FacadeBot extends LevelActions {
  readonly name: string;
  readonly trader: string;
  approve(): Promise<void>;
  open(options: { readonly isBuy: boolean; readonly size: string; readonly copies: number }): Promise<void>;
  rest(options: { readonly isBuy: boolean; readonly size: string; readonly price: string }): Promise<void>;
  close(options: { readonly isBuy: boolean; readonly size: string; readonly times: number }): Promise<void>;
  /** Sets a take profit or a stop loss for all of its position. */
  guard(options: { readonly isProfit: boolean; readonly distance: number }): Promise<void>;
  /** `size`: null keeps it; another one cannot be changed in place. */
  modify(
    choose: (count: number) => number,
    to: { readonly price: (isBuy: boolean) => string; readonly size: string | null },
  ): Promise<void>;
  cancel(choose: (count: number) => number): Promise<void>;
  setLeverage(leverage: number): Promise<void>;
  scheduleCancel(inMs: number): Promise<void>;
  /** Asks any replica. */
  info(type: string, fields: object): Promise<HttpAnswer | null>;
}

/** What a bot does with orders, for actions that consist of it. */
export interface FacadeCalls {
  readonly info: (type: string, fields: object) => Promise<HttpAnswer | null>;
  /** Above 0 for a long one. */
  readonly position: () => Promise<number>;
  /** One request for each of the orders, in their order. */
  readonly place: (kind: string, orders: readonly Record<string, unknown>[], options?: PlaceOptions) => Promise<ClientRequest[]>;
  /** Replaces an order, under a new cloid or the one it has. */
  readonly change: (of: ClientRequest, oid: number | string, to: Record<string, unknown>, keepsCloid?: boolean) => Promise<ClientRequest>;
  readonly cancel: (of: ClientRequest, oid: number | string) => Promise<void>;
  /** Millionths of a dollar, for the trades of its position. */
  readonly changeMargin: (by: number) => Promise<void>;
}

interface PlaceOptions {
  readonly copies?: number;
  readonly grouping?: 'na' | 'normalTpsl' | 'positionTpsl';
}

/** A status that names no order. */
const WAITING = 'waitingForTrigger';

interface Answer {
  readonly status?: string;
  readonly response?: { readonly data?: { readonly statuses?: readonly unknown[] } } | string;
}

interface ItemAnswer {
  readonly resting?: { readonly oid: number };
  readonly filled?: { readonly oid: number };
  readonly error?: string;
}

function itemOf(answer: HttpAnswer | null, item: number): unknown {
  const { response } = (answer?.body ?? {}) as Answer;
  return typeof response === 'object' ? response.data?.statuses?.[item] : undefined;
}

function oidOf(answer: HttpAnswer | null, item: number): number | null {
  const status = itemOf(answer, item);
  const { resting: rests, filled } = (typeof status === 'object' && status !== null ? status : {}) as ItemAnswer;
  return rests?.oid ?? filled?.oid ?? null;
}

/** The status of one item as a word, with the text of an error. */
function wordOf(answer: HttpAnswer | null, item: number): string {
  const { status: whole, response } = (answer?.body ?? {}) as Answer;
  if (whole !== 'ok') return answer === null || typeof response !== 'string' ? 'silence' : `error: ${response}`;
  const status = itemOf(answer, item);
  const { resting: rests, filled, error } = (typeof status === 'object' && status !== null ? status : {}) as ItemAnswer;
  return rests ? 'resting' : filled ? 'filled' : error === undefined ? String(status) : `error: ${error}`;
}

function oidsIn({ body }: HttpAnswer): readonly string[] {
  const { response } = body as Answer;
  const statuses = typeof response === 'object' ? (response.data?.statuses ?? []) : [];
  return statuses.flatMap((_, item) => {
    const oid = oidOf({ status: 200, body, retryAfterMs: null }, item);
    return oid === null ? [] : [String(oid)];
  });
}

/** The text of a refusal. */
function textOf(answer: HttpAnswer | null): string {
  const { response } = (answer?.body ?? {}) as Answer;
  return typeof response === 'string' ? response : '';
}

const UNKNOWN = 'does not exist.';
const TOO_LOW = 'nonce too low';
const TRIES = 5;
const PAUSE_MS = 700;
/** Any price a buyer or seller would accept. */
export const LIMIT = { buy: '90000', sell: '30000' };

interface Changeable {
  readonly b: boolean;
  readonly p: string;
  readonly s: string;
  readonly r: boolean;
  readonly t:
    { readonly limit: object } | { readonly trigger: { readonly isMarket: boolean; readonly triggerPx: string; readonly tpsl: string } };
}

export function createFacadeBot(around: Surroundings, name: string, keys: { readonly trader: Hex; readonly agent: Hex }): FacadeBot {
  const { clock, chain, urls, random, record, arePatient } = around;
  const { slug } = chain.definition;
  const trader = new Wallet(keys.trader);
  const agent = new Wallet(keys.agent);
  let lastNonce = 0;
  let made = 0;
  /** Orders that rest, and triggers. */
  const changeable: { readonly request: ClientRequest; readonly order: Changeable }[] = [];

  const nextNonce = (): number => (lastNonce = Math.max(lastNonce + 1, clock.now()));
  const nextCloid = (): string =>
    `0x${createHash('sha256')
      .update(`${name} ${(made += 1)}`)
      .digest('hex')
      .slice(0, 32)}`;
  const anyUrl = (): string => random.pick(urls());

  /** Repeats the same bytes while there is no decision. */
  async function send(body: ExchangeBody, onSilence: () => void = () => undefined): Promise<HttpAnswer | null> {
    const post = (): Promise<HttpAnswer | null> => postJson(clock, `${anyUrl()}/hl/${slug}/exchange`, body);
    for (let attempt = 1; attempt <= TRIES; attempt += 1) {
      const answer = await post();
      if (answer !== null && answer.status < 300 && (answer.body as Answer).status === 'ok')
        record.replays.add({ about: `an action of ${name}`, send: post, idsIn: oidsIn, ids: oidsIn(answer) });
      if (answer !== null && answer.status < 500 && answer.status !== 429) return answer;
      if (answer === null) onSilence();
      record.count(`facade ${answer === null ? 'silence' : answer.status}`);
      await clock.sleep(arePatient && answer !== null && asksForPatience(answer) ? (answer.retryAfterMs ?? 0) : PAUSE_MS * attempt);
    }
    return null;
  }

  /** What was refused until its nonce had become too old was never taken: it is signed again. One without an agent approves it again. */
  async function sendAction(action: Record<string, unknown>, copies = 1): Promise<(HttpAnswer | null)[]> {
    const silences: number[] = [];
    const body = await signL1(agent, action, { nonce: nextNonce() });
    const answers = await Promise.all(Array.from({ length: copies }, () => send(body, () => silences.push(clock.now()))));
    if (answers.every((answer) => textOf(answer).includes(UNKNOWN))) await approve().catch(() => record.count('facade agent refused'));
    if (silences.length > 0 || !answers.every((answer) => textOf(answer).includes(TOO_LOW))) return answers;
    record.count('facade signed again');
    return [await send(await signL1(agent, action, { nonce: nextNonce() }))];
  }

  async function approve(): Promise<void> {
    const body = await approveAgent(trader, agent.address, null, { network: 'Testnet', nonce: nextNonce() });
    const answer = await send(body);
    if ((answer?.body as { status?: string } | undefined)?.status !== 'ok')
      throw new Error(`${name} has no agent: ${JSON.stringify(answer)}`);
  }

  const info = (type: string, fields: object): Promise<HttpAnswer | null> =>
    postJson(clock, `${anyUrl()}/hl/${slug}/info`, { type, user: trader.address, ...fields });

  /** Above 0 for a long one. */
  async function position(): Promise<number> {
    const answer = await info('clearinghouseState', {});
    const { assetPositions = [] } = (answer?.body ?? {}) as { assetPositions?: { position: { szi: string } }[] };
    return Number(assetPositions[0]?.position.szi ?? 0);
  }

  /** A bot that lost an answer asks for the order by its own id. */
  async function lookUp(request: ClientRequest): Promise<void> {
    for (let attempt = 1; attempt <= TRIES; attempt += 1) {
      const answer = await info('orderStatus', { oid: request.id });
      if (answer?.status === 200) {
        const { order: found } = answer.body as { order?: { order?: { oid?: number }; status?: string } };
        const oid = found?.order?.oid;
        request.answers.push({ at: clock.now(), orderId: oid === undefined ? null : String(oid), status: found?.status ?? 'unknownOid' });
        return;
      }
      await clock.sleep(PAUSE_MS * attempt);
    }
  }

  /** False where the answer does not name the order, or leaves open what became of it. */
  function note(request: ClientRequest, answer: HttpAnswer | null, item = 0): boolean {
    const at = clock.now();
    const body = answer?.body as { status?: string; response?: unknown } | undefined;
    if (body?.status !== 'ok') {
      const text = typeof body?.response === 'string' ? body.response : 'silence';
      request.answers.push({ at, orderId: null, status: answer === null ? 'silence' : `error: ${text}` });
      return false;
    }
    const oid = oidOf(answer, item);
    const word = wordOf(answer, item);
    request.answers.push({ at, orderId: oid === null ? null : String(oid), status: word });
    return word !== WAITING;
  }

  const newRequest = (kind: string): ClientRequest =>
    record.request({ client: name, api: 'facade', trader: trader.address.toLowerCase(), id: nextCloid(), kind });

  const place: FacadeCalls['place'] = async (kind, orders, { copies = 1, grouping = 'na' } = {}) => {
    const requests = orders.map(() => newRequest(kind));
    const named = orders.map((changes, at) => order({ ...changes, c: requests[at]?.id }));
    const answers = await sendAction({ ...orderAction(...named), grouping }, copies);
    for (const [at, request] of requests.entries()) {
      const areClear = answers.map((answer) => note(request, answer, at));
      if (areClear.some((isClear) => !isClear)) await lookUp(request);
    }
    return requests;
  };

  async function placeOne(kind: string, changes: Record<string, unknown>, copies = 1): Promise<ClientRequest> {
    const [request] = await place(kind, [changes], { copies });
    if (request === undefined) throw new Error('no order was placed');
    return request;
  }

  const act = async (action: Record<string, unknown>, what: string): Promise<HttpAnswer | null> => {
    const [answer = null] = await sendAction(action);
    const { status } = (answer?.body ?? {}) as { status?: string };
    record.count(`${what} ${status ?? 'silence'}`);
    return answer;
  };

  const cancelNamed: FacadeCalls['cancel'] = async (of, oid) => {
    const askedAt = clock.now();
    const action =
      typeof oid === 'number'
        ? { type: 'cancel', cancels: [{ a: 0, o: oid }] }
        : { type: 'cancelByCloid', cancels: [{ asset: 0, cloid: oid }] };
    const answer = await act(action, 'cancel');
    record.cancels.push({ of, by: null, askedAt, status: wordOf(answer, 0) });
  };

  const change: FacadeCalls['change'] = async (of, oid, to, keepsCloid = false) => {
    const askedAt = clock.now();
    const by = keepsCloid
      ? record.request({ client: name, api: 'facade', trader: of.trader, id: of.id, kind: 'change' })
      : newRequest('change');
    const answer = await act({ type: 'batchModify', modifies: [{ oid, order: order({ ...to, c: by.id }) }] }, 'change');
    // A cloid that was kept may name either order.
    if (!note(by, answer) && !keepsCloid) await lookUp(by);
    const word = wordOf(answer, 0);
    record.cancels.push({ of, by, askedAt, status: word === 'resting' ? 'success' : word });
    return by;
  };

  // It has no cloid, but becomes orders of ours.
  const changeMargin: FacadeCalls['changeMargin'] = async (by) => {
    note(newRequest('margin'), await act({ type: 'updateIsolatedMargin', asset: 0, isBuy: true, ntli: by }, 'margin'));
  };

  return {
    name,
    info,
    ...createLevelActions({ info, position, place, change, cancel: cancelNamed, changeMargin }),
    trader: trader.address.toLowerCase(),
    approve,
    async open({ isBuy, size, copies }) {
      await placeOne('open', { b: isBuy, p: isBuy ? LIMIT.buy : LIMIT.sell, s: size, t: { limit: { tif: 'Ioc' } } }, copies);
    },
    async rest({ isBuy, size, price }) {
      const asked = { b: isBuy, p: price, s: size, r: false, t: { limit: { tif: 'Gtc' } } };
      changeable.push({ request: await placeOne('rest', asked), order: asked });
    },
    async close({ isBuy, size, times }) {
      const held = await position();
      const [buys, s] = held === 0 ? [isBuy, size] : [held < 0, String(Math.abs(held))];
      // Without a position it opens one.
      const closing = { b: buys, p: buys ? LIMIT.buy : LIMIT.sell, s, r: held !== 0, t: { limit: { tif: 'Ioc' } } };
      await Promise.all(Array.from({ length: times }, () => placeOne(held === 0 ? 'open' : 'close', closing)));
    },
    async guard({ isProfit, distance }) {
      const held = await position();
      if (held === 0) return;
      const isLong = held > 0;
      const triggerPx = levelPrice(isLong, { isProfit, distance });
      const trigger = { isMarket: true, triggerPx, tpsl: isProfit ? 'tp' : 'sl' };
      const level = { b: !isLong, p: isLong ? LIMIT.sell : LIMIT.buy, s: String(Math.abs(held)), r: true, t: { trigger } };
      changeable.push({ request: await placeOne('guard', level), order: level });
    },
    async modify(choose, { price, size }) {
      const chosen = changeable[choose(changeable.length)];
      if (chosen === undefined) return;
      const cloid = nextCloid();
      const { t } = chosen.order;
      const changed =
        'trigger' in t
          ? { ...chosen.order, t: { trigger: { ...t.trigger, triggerPx: moved(t.trigger.triggerPx) } } }
          : { ...chosen.order, p: price(chosen.order.b), s: size ?? chosen.order.s };
      const request = record.request({ client: name, api: 'facade', trader: trader.address.toLowerCase(), id: cloid, kind: 'modify' });
      const askedAt = clock.now();
      const answer = await act({ type: 'modify', oid: chosen.request.id, order: order({ ...changed, c: cloid }) }, 'modify');
      note(request, answer);
      const isMade = (answer?.body as { status?: string } | undefined)?.status === 'ok';
      record.cancels.push({ of: chosen.request, by: request, askedAt, status: isMade ? 'success' : wordOf(answer, 0) });
      changeable.push({ request, order: changed });
    },
    async cancel(choose) {
      const request = changeable[choose(changeable.length)]?.request;
      if (request !== undefined) await cancelNamed(request, request.id);
    },
    async setLeverage(leverage) {
      await act({ type: 'updateLeverage', asset: 0, isCross: true, leverage }, 'leverage');
    },
    async scheduleCancel(inMs) {
      await act({ type: 'scheduleCancel', time: clock.now() + inMs }, 'schedule');
    },
  };
}
