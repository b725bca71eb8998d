import type pg from 'pg';
import type { ChainControls } from '../../sandbox/controls.js';
import { diamondCall } from '../harness/diamond/diamond-calls.js';
import { eventually } from '../harness/time/eventually.js';
import {
  cancel,
  cancelNamed,
  changeOf,
  jumpTo,
  LEVEL_PRICE,
  newLevelBot,
  stop as stopAt,
  takeProfit,
  units,
  type LevelBot,
} from '../harness/traders/level-bot.js';
import { orderAction } from '../harness/hyperliquid/exchange.js';
import { FACADE_CHAIN } from '../harness/traders/facade-trader.js';
import { answersWhenKnown } from '../harness/venue/answer-hold.js';
import { firstChain } from '../harness/venue/first-chain.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { sharedVenue } from '../harness/venue/shared-venue.js';
import { venueDatabase } from '../harness/venue/venue-database.js';

/** Stop losses at a price where another one stands: which of the two has it, if the later one is not stored, comes at once, or is refused. */
const [X, Y, Z] = ['c1', 'c2', 'c3'].map((digits) => `0x${digits.repeat(16)}`) as [string, string, string];
const GONE = [{ error: 'Order was never placed, already canceled, or filled. asset=0' }];

let sandbox: TestVenue;
let chain: ChainControls;
let database: pg.Client;

beforeAll(async () => {
  sandbox = await sharedVenue();
  chain = firstChain(sandbox);
  database = await venueDatabase(sandbox);
});
afterEach(() => chain.pauseMining(false));
afterAll(async () => {
  await database.end();
  await sandbox.stop();
});
beforeEach(() => jumpTo(sandbox, LEVEL_PRICE));

const stop = (s: string, c: string) => stopAt('55000', s, c);

/** A bot with trades of these sizes. */
async function newBot(...sizes: string[]): Promise<LevelBot> {
  const bot = await newLevelBot(sandbox);
  for (const [at, size] of sizes.entries()) await bot.open(size, at + 1);
  return bot;
}

const statusesOf = (bot: LevelBot, ...names: (number | string)[]): Promise<string[]> =>
  Promise.all(
    names.map(async (name) => {
      const shown = await bot.statusOf(name);
      return typeof shown === 'string' ? shown : 'open';
    }),
  );

function oidOf(status: unknown): number {
  const oid = (status as Record<string, { oid: number } | undefined>)['resting']?.oid;
  if (oid === undefined) throw new Error(`not placed: ${JSON.stringify(status)}`);
  return oid;
}

/** The database refuses every transaction of the relayer for this trader meanwhile. */
async function withoutJobs({ user }: LevelBot, work: () => Promise<void>): Promise<void> {
  await database.query(`
    create function refuse_job() returns trigger as $$ begin raise exception 'out of space' using errcode = '53100'; end $$ language plpgsql;
    create trigger refuse_job before insert on relay_jobs for each row when (new.trader = '${user}') execute function refuse_job()`);
  try {
    await work();
  } finally {
    await database.query('drop function refuse_job cascade');
  }
}

describe('a stop loss at a price where another stands, which cannot be stored,', () => {
  it.each([
    ['one trade', ['0.1'], '0.1'],
    ['one of two trades', ['0.1', '0.1'], '0.2'],
  ] as const)('takes nothing from it: %s', async (_name, sizes, whole) => {
    const bot = await newBot(...sizes);
    const x = await bot.place(stop(whole, X));
    await withoutJobs(bot, async () => expect(await bot.ask(orderAction(stop('0.1', Z)))).toMatchObject({ code: 'NOT_READY' }));
    expect(await bot.listed()).toMatchObject([{ oid: x, cloid: X }]);
    expect(await statusesOf(bot, x, X)).toEqual(['open', 'open']);
    expect(await bot.send(cancelNamed(Z))).toEqual(GONE);
    expect(await bot.send(cancelNamed(X))).toEqual(['success']);
    expect(await bot.stops()).toEqual(sizes.map(() => 0n));
    expect(await bot.listed()).toEqual([]);
  });
});

describe('two stop losses at the same price at once', () => {
  it.each([
    ['where none stands', false],
    ['where another stands', true],
  ])('have numbers of their own, and one of them has the level: %s', async (_name, isThird) => {
    const bot = await newBot('0.1');
    if (isThird) await bot.place(stop('0.1', X));
    const answers = await Promise.all([Y, Z].map((cloid) => bot.send(orderAction(stop('0.1', cloid)))));
    const [y, z] = answers.map(([status]) => oidOf(status)) as [number, number];
    expect(y).not.toBe(z);
    await bot.isQuiet();
    const [first] = await statusesOf(bot, Y);
    const [owner, other] = first === 'open' ? [Y, Z] : [Z, Y];
    expect(await bot.listed()).toMatchObject([{ oid: owner === Y ? y : z, cloid: owner }]);
    expect(await statusesOf(bot, owner, other)).toEqual(['open', 'canceled']);
    expect(await bot.send(cancelNamed(other))).toEqual(GONE);
    expect(await bot.send(cancel(owner === Y ? z : y))).toEqual(GONE);
    expect(await bot.stops()).toEqual([units(55_000)]);
    expect(await bot.send(cancelNamed(owner))).toEqual(['success']);
    expect(await bot.stops()).toEqual([0n]);
  });
});

describe('a stop loss at a price where another stands, whose transaction fails,', () => {
  /** The relayer refuses to sign what does not follow from the bot's action. */
  async function isRefused(bot: LevelBot, send: () => Promise<unknown>): Promise<void> {
    await database.query(`
      create function spoil_job() returns trigger as $$ begin new.data = '0x00'; return new; end $$ language plpgsql;
      create trigger spoil_job before insert on relay_jobs for each row when (new.trader = '${bot.user}') execute function spoil_job()`);
    try {
      await send();
    } finally {
      await database.query('drop function spoil_job cascade');
    }
  }

  /** The trader removes the delegate in the same block, before it. */
  async function reverts({ trader, user }: LevelBot, send: () => Promise<unknown>): Promise<void> {
    const { diamond } = chain.definition;
    const pending = () => chain.request('eth_getTransactionCount', [trader.account.address, 'pending']);
    await chain.pauseMining(true);
    const before = await pending();
    const removed = trader.send(diamond, diamondCall('removeTradingDelegate', []));
    await eventually(pending, (now) => now !== before);
    const answer = send();
    await eventually(
      () => database.query(`select from relay_jobs where trader = $1 and state = 'accepted'`, [user]),
      ({ rowCount }) => rowCount === 1,
    );
    await chain.pauseMining(false);
    await Promise.all([removed, answer]);
    await trader.send(diamond, diamondCall('setTradingDelegate', [sandbox.controls.relayer]));
  }

  it.each([
    ['refused', 'one trade', isRefused, ['0.1'], '0.1'],
    ['reverted', 'one of two trades', reverts, ['0.1', '0.1'], '0.2'],
  ] as const)('leaves it as it was: %s, %s', async (state, _name, fails, sizes, whole) => {
    const bot = await newBot(...sizes);
    const x = await bot.place(stop(whole, X));
    await fails(bot, () => bot.ask(orderAction(stop('0.1', Z))));
    await bot.isQuiet();
    const { rows } = await database.query('select state from relay_jobs where trader = $1 order by id desc limit 1', [bot.user]);
    expect(rows).toEqual([{ state }]);
    expect(await bot.listed()).toMatchObject([{ oid: x, cloid: X }]);
    expect(await statusesOf(bot, x, X, Z)).toEqual(['open', 'open', 'canceled']);
    expect(await bot.send(cancelNamed(Z))).toEqual(GONE);
    expect(await bot.stops()).toEqual(sizes.map(() => units(55_000)));
    expect(await bot.send(cancelNamed(X))).toEqual(['success']);
    expect(await bot.stops()).toEqual(sizes.map(() => 0n));
    const z = await bot.place(stop(whole, Z));
    expect(await bot.listed()).toMatchObject([{ oid: z, cloid: Z }]);
  });
});

/** The newest transactions for the bot's trader are settled once more, as after a reorganisation. */
async function settleAgain({ user }: LevelBot, state: 'mined' | 'reverted', count = 1): Promise<void> {
  const { relay } = sandbox.gateway.store;
  const { rows } = await database.query<{ id: string }>('select id from relay_jobs where trader = $1 order by id desc limit $2', [
    user,
    count,
  ]);
  const jobs = await Promise.all(rows.map(({ id }) => relay.job(FACADE_CHAIN, BigInt(id))));
  const unmined = { hash: '0x01', blockNumber: 1n, blockHash: '0x02', gasUsed: 1n, costWei: 1n } as const;
  await relay.settle(
    FACADE_CHAIN,
    jobs.map((job) => ({ id: job?.id ?? 0n, state, mined: job?.mined ?? unmined })),
  );
}

describe('a stop loss at a price where another stands, whose transaction is settled again after a reorganisation,', () => {
  it.each([
    ['one trade', ['0.1']],
    ['two trades', ['0.1', '0.1']],
  ])('has the trigger that its transaction set, whatever the relayer takes for its outcome meanwhile: %s', async (_name, sizes) => {
    const bot = await newBot(...sizes);
    const x = await bot.place(stop(sizes.length === 1 ? '0.1' : '0.2', X));
    const z = await bot.place(stop('0.1', Z));
    await bot.isQuiet();
    const [ofX, ofZ] = [
      { oid: x, cloid: X },
      { oid: z, cloid: Z },
    ];
    const second = sizes.length === 1 ? [] : [ofX];
    for (const state of ['reverted', 'mined'] as const) {
      await settleAgain(bot, state);
      expect(await bot.listed()).toMatchObject([ofZ, ...second]);
      const statuses = [second.length === 0 ? 'canceled' : 'open', 'open'];
      expect(await statusesOf(bot, X, Z)).toEqual(statuses);
      expect(await statusesOf(bot, x, z)).toEqual(statuses);
    }
    expect(await bot.send(cancelNamed(Z))).toEqual(['success']);
    expect(await bot.stops()).toEqual([0n, ...second.map(() => units(55_000))]);
    expect(await bot.send(cancel(x))).toEqual(second.length === 0 ? GONE : ['success']);
    expect(await bot.stops()).toEqual(sizes.map(() => 0n));
  });
});

describe('a level at a price where another is under way', () => {
  /** Sent to the node, which mines nothing meanwhile. */
  const isSent = (bot: LevelBot, transactions: number) =>
    eventually(
      () => database.query(`select from relay_jobs where trader = $1 and state = 'accepted'`, [bot.user]),
      ({ rowCount }) => rowCount === transactions,
    );

  type Wire = Record<string, unknown>;

  /** Resolves when the gateway has found a trigger contested twice: once to know it, and once more while it waits. */
  async function watchLooks(): Promise<'waits'> {
    const { triggers } = sandbox.gateway.store.facade;
    const live = triggers.live.bind(triggers);
    let looks = 0;
    const counted: typeof live = async (...asked) => {
      const found = await live(...asked);
      const places = found.map(({ place, kind }) => `${place} ${kind}`);
      if (new Set(places).size < places.length) looks += 1;
      return found;
    };
    Object.assign(triggers, { live: counted });
    try {
      await eventually(
        () => looks,
        (count) => count > 1,
      );
      return 'waits';
    } finally {
      Object.assign(triggers, { live });
    }
  }

  /** The relayer gets no nonce for this trader meanwhile, so that what is queued can still be refused. */
  async function withoutNonces({ user }: LevelBot): Promise<() => Promise<unknown>> {
    await database.query(`
      create function hold_job() returns trigger as $$ begin raise exception 'out of space' using errcode = '53100'; end $$ language plpgsql;
      create trigger hold_job before update on relay_jobs for each row
      when (new.trader = '${user}' and old.state = 'queued' and new.state = 'assigned') execute function hold_job()`);
    return () => database.query('drop function hold_job cascade');
  }

  const queued = ({ user }: LevelBot) =>
    database.query<{ id: string }>(`select id from relay_jobs where trader = $1 and state = 'queued'`, [user]);

  async function refuseQueued(bot: LevelBot): Promise<void> {
    const { relay } = sandbox.gateway.store;
    for (const { id } of (await queued(bot)).rows)
      await relay.refuse(FACADE_CHAIN, BigInt(id), { reason: 'policy', note: 'it was refused' });
  }

  /** Sends the request while Z, at the same price, and `others` are under way; then these fail or are mined. */
  async function whileContested(
    bot: LevelBot,
    { request, others = [], fail = true }: { request: Wire; others?: readonly Wire[]; fail?: boolean },
  ): Promise<unknown> {
    await chain.pauseMining(true);
    answersWhenKnown(sandbox);
    const giveNonces = fail ? await withoutNonces(bot) : null;
    const answers: Promise<unknown>[] = [];
    for (const [at, order] of [...others, stop('0.1', Z)].entries()) {
      answers.push(bot.ask(orderAction(order)));
      await (fail
        ? eventually(
            () => queued(bot),
            ({ rowCount }) => rowCount === at + 1,
          )
        : isSent(bot, at + 1));
    }
    const isWaiting = watchLooks();
    const asked = bot.send(request);
    expect(await Promise.race([asked, isWaiting])).toBe('waits');
    if (fail) await refuseQueued(bot);
    await giveNonces?.();
    await chain.pauseMining(false);
    const [outcome] = await Promise.all([asked, ...answers]);
    await bot.isQuiet();
    return outcome;
  }

  it('is canceled if that one fails', async () => {
    const bot = await newBot('0.1');
    const x = await bot.place(stop('0.1', X));
    expect(await whileContested(bot, { request: cancel(x) })).toEqual(['success']);
    expect(await bot.stops()).toEqual([0n]);
  });

  it('is gone if that one is mined, which stays', async () => {
    const bot = await newBot('0.1');
    const x = await bot.place(stop('0.1', X));
    expect(await whileContested(bot, { request: cancel(x), fail: false })).toEqual(GONE);
    expect(await bot.stops()).toEqual([units(55_000)]);
    expect(await bot.send(cancelNamed(Z))).toEqual(['success']);
  });

  it.each([
    ['canceled', cancelNamed(X), 0n],
    ['changed', changeOf(X, stopAt('54000', '0.1', X)), units(54_000)],
  ])('is %s if that one fails, also while it is under way itself', async (_, request, left) => {
    const bot = await newBot('0.1');
    await chain.pauseMining(true);
    const placed = bot.ask(orderAction(stop('0.1', X)));
    await isSent(bot, 1);
    await whileContested(bot, { request });
    await placed;
    expect(await bot.stops()).toEqual([left]);
  });

  it.each([
    ['canceled', cancelNamed(X), 0n],
    ['changed', changeOf(X, stopAt('54000', '0.1', X)), units(54_000)],
  ])('is %s if that one fails after the level was read, and before it is asked whether another is under way', async (_, request, left) => {
    const bot = await newBot('0.1');
    await bot.place(stop('0.1', X));
    answersWhenKnown(sandbox);
    const giveNonces = await withoutNonces(bot);
    const answer = bot.ask(orderAction(stop('0.1', Z)));
    await eventually(
      () => queued(bot),
      ({ rowCount }) => rowCount === 1,
    );
    const { triggers } = sandbox.gateway.store.facade;
    const live = triggers.live.bind(triggers);
    const hasFailed = new Promise<void>((resolve) => {
      const failsFirst: typeof live = async (...given) => {
        Object.assign(triggers, { live });
        await refuseQueued(bot);
        resolve();
        return live(...given);
      };
      Object.assign(triggers, { live: failsFirst });
    });
    const asked = bot.send(request);
    await hasFailed;
    await giveNonces();
    await Promise.all([asked, answer]);
    await bot.isQuiet();
    expect(await bot.stops()).toEqual([left]);
  });

  it('of another client is canceled if that one fails', async () => {
    const bot = await newBot('0.1');
    const [trade] = await bot.trader.trades();
    await bot.trader.send(chain.definition.diamond, diamondCall('updateSl', [trade?.index ?? 0, units(55_000)]));
    await bot.stopsBecome(([at]) => at === units(55_000));
    const [listed] = await bot.listed();
    expect(await whileContested(bot, { request: cancel(listed?.oid ?? 0) })).toEqual(['success']);
    expect(await bot.stops()).toEqual([0n]);
  });

  it('is changed with another such level in one action if both of those fail', async () => {
    const bot = await newBot('0.1');
    const [x, y] = [await bot.place(stop('0.1', X)), await bot.place(takeProfit('65000', '0.1', Y))];
    const modifies = [
      { oid: x, order: stopAt('54000', '0.1', X) },
      { oid: y, order: takeProfit('66000', '0.1', Y) },
    ];
    const others = [takeProfit('65000', '0.1', `0x${'c4'.repeat(16)}`)];
    const changed = await whileContested(bot, { request: { type: 'batchModify', modifies }, others });
    expect(JSON.stringify(changed)).not.toContain('error');
    expect(await bot.stops()).toEqual([units(54_000)]);
    expect((await bot.trader.trades())[0]?.tp).toBe(units(66_000));
  });
});

describe('a stop loss that another replaced at the same price', () => {
  const owe = (oid: number) =>
    database.query(
      `insert into pending_closing_slippages (chain, trader, agent, action, item, oid, trade_index, slippage_p, due_at)
       select chain, trader, agent, action, item, oid, leg.trade_index, 20000, 0
       from exchange_orders join exchange_legs leg using (chain, oid) where oid = $1`,
      [oid],
    );
  const isSettled = (oid: number) =>
    eventually(
      // What was put off is due again at once.
      () => database.query('update pending_closing_slippages set due_at = 0 where oid = $1', [oid]),
      ({ rowCount }) => rowCount === 0,
    );

  it('gets no closing slippage any more, and the other one does', async () => {
    const bot = await newBot('0.1');
    const x = await bot.place(stop('0.1', X));
    const z = await bot.place(stop('0.1', Z));
    const sentFor = async () =>
      (
        await database.query<{ oid: string }>(
          `select context -> 'oid' ->> '$n' as oid from relay_jobs where trader = $1 and context ->> 'kind' = 'closing-slippage'`,
          [bot.user],
        )
      ).rows.map(({ oid }) => Number(oid));
    await owe(x);
    await isSettled(x);
    expect(await sentFor()).toEqual([]);
    await owe(z);
    await eventually(sentFor, ([oid]) => oid === z);
  });
});
