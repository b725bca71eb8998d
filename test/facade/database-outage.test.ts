import { Wallet } from 'ethers';
import type pg from 'pg';
import type { ChainControls } from '../../sandbox/controls.js';
import { cutOff } from '../harness/database/cut-waiting.js';
import { eventually, until } from '../harness/time/eventually.js';
import { newFacadeTrader } from '../harness/traders/facade-trader.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { answersUntil } from '../harness/venue/answer-hold.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { venueDatabase } from '../harness/venue/venue-database.js';

const CHAIN = 'arbitrum-sepolia';

let sandbox: TestVenue;
let chain: ChainControls;
let database: pg.Client;

beforeAll(async () => {
  sandbox = await startOwnVenue();
  chain = firstChain(sandbox);
  database = await venueDatabase(sandbox);
});
afterEach(() => chain.pauseMining(false));
afterAll(async () => {
  await database.end();
  await sandbox.stop();
});

const resting = () => orderAction(order({ a: 0, b: true, p: '30000', s: '0.01', t: { limit: { tif: 'Gtc' } } }));

async function newBot() {
  const { trader, agentKey, address } = await newFacadeTrader(sandbox);
  const agent = new Wallet(agentKey);
  return {
    trader,
    address,
    place: async (action = resting()) => (await postExchange(sandbox.url, CHAIN, await signL1(agent, action))).body,
    jobs: async () =>
      (await database.query<{ state: string }>('select state from relay_jobs where trader = $1', [address.toLowerCase()])).rows,
  };
}

const openOn = ({ trader }: Awaited<ReturnType<typeof newBot>>, count: number) =>
  eventually(
    () => trader.trades(),
    ({ length }) => length === count,
  );

describe('a database that goes away', () => {
  it('while an answer is held: the order that a node has is reported as resting, and is there once', async () => {
    const bot = await newBot();
    await chain.pauseMining(true);
    const held = answersUntil(sandbox);
    const answer = bot.place();
    await eventually(
      () => bot.jobs(),
      (jobs) => jobs.some(({ state }) => state === 'accepted'),
    );
    sandbox.log.entries.length = 0;
    const isCut = () => sandbox.log.entries.some(({ event }) => event === 'due-work.not-read');
    const body = await cutOff(
      database,
      'relay_jobs',
      async () => {
        await until(isCut);
        held.end();
        return answer;
      },
      'access exclusive',
    );
    expect(body).toMatchObject({ status: 'ok', response: { data: { statuses: [{ resting: { oid: expect.any(Number) } }] } } });
    await chain.pauseMining(false);
    await openOn(bot, 1);
  });

  it('between the two parts of one order: neither is sent, nothing waits for a transaction, and the bot can place it again', async () => {
    const bot = await newBot();
    const at = (b: boolean, s: string) => orderAction(order({ a: 0, b, p: b ? '66000' : '54000', s, r: !b, t: { limit: { tif: 'Ioc' } } }));
    await bot.place(at(true, '0.01'));
    await bot.place(at(true, '0.02'));
    await openOn(bot, 2);
    await database.query(`
      create function refuse_second_job() returns trigger as $$ begin
        if exists (select from relay_jobs where parent = new.parent) then raise exception 'out of space' using errcode = '53100'; end if;
        return new;
      end $$ language plpgsql;
      create trigger refuse_second_job before insert on relay_jobs for each row execute function refuse_second_job()`);
    const before = await bot.jobs();
    expect(await bot.place(at(false, '0.03'))).toMatchObject({ code: 'NOT_READY' });
    await database.query('drop function refuse_second_job cascade');
    const waiting = await database.query(`select from orders where trader = $1 and status = 'prepared'`, [bot.address.toLowerCase()]);
    expect(waiting.rowCount).toBe(0);
    expect(await bot.jobs()).toHaveLength(before.length);
    expect(await bot.place(at(false, '0.03'))).toMatchObject({ response: { data: { statuses: [{ filled: { totalSz: '0.03' } }] } } });
    await openOn(bot, 0);
  });
});
