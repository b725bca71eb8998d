import { Wallet } from 'ethers';
import type { Page } from 'playwright-core';
import { CANCEL_REASONS } from '../../core/domain/order.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { reorgAway } from '../harness/diamond/reorg-away.js';
import { BUSY_AGENTS, newAgentTrader, prepared, type AgentTrader, type Json } from '../harness/traders/agent-trader.js';
import { domainOf, keyIssue, signWith } from '../harness/traders/master-wallet.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { describePages, openBrowser, shootAll, type TestBrowser } from './browser.js';
import { openCutLine } from './cut-line.js';

const CHAIN = 'arbitrum-sepolia';
const MARKET = { market: 'BTC/USD', side: 'long', type: 'market', size: '0.02', leverage: '10' };
const LIMIT = { ...MARKET, type: 'limit', price: '50000' };
const BTC = 0;

describePages('the account page', () => {
  let venue: TestVenue;
  let chain: ChainControls;
  let browser: TestBrowser;
  beforeAll(async () => {
    venue = await startOwnVenue(BUSY_AGENTS);
    chain = firstChain(venue);
    venue.controls.prices.jump(BTC, '60000');
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await venue.stop();
  });

  async function keyOf({ trader }: Pick<AgentTrader, 'trader'>): Promise<string> {
    const issue = await keyIssue(signWith(new Wallet(trader.privateKey), await domainOf(venue)), trader.account.address, 'page');
    return ((await venue.post(`/v1/${CHAIN}/api-keys`, issue)).body as { apiKey: string }).apiKey;
  }

  /** The oracle refuses, so that the two numbers of the disagreement are shown. */
  async function placeRefused(bot: AgentTrader): Promise<Json> {
    chain.setOraclePolicy(null, { mode: 'reject', reason: CANCEL_REASONS.indexOf('SLIPPAGE') });
    try {
      return await bot.place({ ...MARKET, size: '0.01' }, 'rejected');
    } finally {
      chain.setOraclePolicy(null, { mode: 'auto' });
    }
  }

  async function enter(page: Page, key: string, url = venue.url): Promise<void> {
    await page.goto(`${url}/account`);
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Show account' }).click();
    await page.getByRole('tab', { name: /^Positions/ }).waitFor();
  }

  const tab = (page: Page, name: string) => page.getByRole('tab', { name: new RegExp(`^${name}`) });
  const rows = (page: Page, label: string) => page.getByRole('table', { name: label }).locator('tbody > tr:not(.detail)');

  it('asks for a key, refuses what is none in words, and keeps one in the tab alone', async () => {
    const bot = await newAgentTrader(venue, chain);
    const { page, context, complaints, close } = await browser.open();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(`${venue.url}/account`);
    await page.getByLabel('API key').fill('not a key');
    await page.getByRole('button', { name: 'Show account' }).click();
    await page.getByRole('alert').getByText('This is no API key').waitFor();
    await page.getByLabel('API key').fill(`dg_${'A'.repeat(43)}`);
    await page.getByRole('button', { name: 'Show account' }).click();
    await page.getByRole('alert').getByText('API_KEY_UNKNOWN').waitFor();
    expect(await shootAll(page, 'account-refused')).toEqual([]);
    const key = await keyOf(bot);
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Show account' }).click();
    await tab(page, 'Positions').waitFor();
    expect(asked.filter((url) => url.includes(key) || url.includes('/sandbox'))).toEqual([]);
    expect(page.url()).toBe(`${venue.url}/account`);
    expect(await page.evaluate<string>('JSON.stringify(localStorage)')).not.toContain(key);
    expect(await context.cookies()).toEqual([]);
    await page.reload();
    await tab(page, 'Positions').waitFor();
    const other = await context.newPage();
    await other.goto(`${venue.url}/account`);
    await other.getByLabel('API key').waitFor();
    await page.getByRole('button', { name: 'Forget this key' }).click();
    await page.getByLabel('API key').waitFor();
    expect(await page.evaluate<string>('JSON.stringify(sessionStorage)')).not.toContain(key);
    expect(complaints).toEqual([]);
    await close();
  });

  it('says of an account without a trade what to do, tab by tab', async () => {
    const bot = await newAgentTrader(venue, chain);
    const { page, complaints, close } = await browser.open();
    await enter(page, await keyOf(bot));
    await page.getByText('No position is open.').waitFor();
    expect(await shootAll(page, 'account-empty')).toEqual([]);
    await tab(page, 'Orders').click();
    await page.getByText('This account has made no order yet.').waitFor();
    await tab(page, 'Fills').click();
    await page.getByText('Nothing has been executed for this account yet.').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  it('shows a position, its orders with their timelines, fills and the journal, and follows what happens', async () => {
    const bot = await newAgentTrader(venue, chain);
    const { page, context, complaints, close } = await browser.open();
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await enter(page, await keyOf(bot));
    await page.getByText('No position is open.').waitFor();

    const filled = await bot.place(MARKET, 'filled');
    const position = await bot.position();
    const row = rows(page, 'Positions').first();
    await row.getByText('BTC/USD').waitFor();
    expect(await row.textContent()).toMatch(/BTC\/USD.*long.*10×.*0\.01999.*\$1,[12].*(?:59|60),\d{3}.*[−+]?\d+\.\d\d.*%.*54,.*%.*USDC/);
    expect(await row.locator(`[title="${String(position['entryPrice'])}"]`).count()).toBeGreaterThan(0);
    await page.getByText('Margin used').waitFor();
    const refused = await placeRefused(bot);
    const resting = await bot.place(LIMIT, 'open');
    await page.locator('.tile', { hasText: 'In orders' }).getByText('USDC').waitFor();
    expect(await shootAll(page, 'account-positions')).toEqual([]);

    await tab(page, 'Orders').click();
    expect(await tab(page, 'Orders').textContent()).toBe('Orders1 open');
    for (const [order, word] of [
      [filled, 'filled'],
      [refused, 'rejected'],
      [resting, 'resting'],
    ] as const)
      await page.locator(`[data-row="${String(order['id'])}"] .chip`, { hasText: word }).waitFor();
    await page.getByRole('button', { name: `Timeline of order ${String(filled['id'])}`, exact: true }).click();
    await page.locator('.timeline li').nth(4).waitFor();
    expect(await page.locator('.timeline .stage').allTextContents()).toEqual([
      'validated',
      'simulated',
      'prepared',
      'mined',
      'oracle asked',
      'oracle answered',
      'filled',
    ]);
    expect((await page.locator('.timeline .since').allTextContents()).every((text) => /^(?:start|\+[\d,]+ ms)$/.test(text))).toBe(true);
    expect(await page.locator(`.timeline code[title="${String((filled['fill'] as Json)['txHash'])}"]`).count()).toBeGreaterThan(0);
    await page.getByRole('button', { name: `Timeline of order ${String(refused['id'])}`, exact: true }).click();
    await page.locator('.refusal').getByText(String(refused['reason'])).waitFor();
    expect(await page.locator('.disagreed strong').count()).toBe(2);
    expect(await shootAll(page, 'account-orders')).toEqual([]);

    await bot.send(prepared(await bot.close(String(position['id']))));
    await tab(page, 'Fills').click();
    await rows(page, 'Fills').nth(1).waitFor();
    expect(await rows(page, 'Fills').first().textContent()).toMatch(/BTC\/USD.*long close.*(?:59|60),\d{3}/);
    expect(await shootAll(page, 'account-fills')).toEqual([]);
    await tab(page, 'Positions').click();
    await page.getByText('No position is open.').waitFor();

    await tab(page, 'Journal').click();
    await page.getByText(/^position \d+ is closed/).waitFor();
    await page.getByLabel('Kind').selectOption('fill');
    expect(await rows(page, 'Journal').count()).toBe(2);
    await rows(page, 'Journal').first().click();
    const json = await page.getByLabel(/^Entry \d+ as JSON$/).textContent();
    expect(JSON.parse(json ?? '')).toMatchObject({ kind: 'fill', data: { action: 'close', market: 'BTC/USD' } });
    expect(await shootAll(page, 'account-journal')).toEqual([]);
    const button = page.getByRole('button', { name: /^Copy cursor \d+$/ });
    const cursor = (await button.textContent())?.replace(/\D/g, '');
    await button.click();
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(cursor);
    expect(complaints).toEqual([]);
    await close();
  });

  it('marks what a reorganisation undid, and takes it out of the lists', async () => {
    const bot = await newAgentTrader(venue, chain);
    await chain.mine(3);
    const { page, complaints, close } = await browser.open();
    await enter(page, await keyOf(bot));
    const filled = await bot.place(MARKET, 'filled');
    await tab(page, 'Fills').click();
    await rows(page, 'Fills').first().waitFor();
    const hash = (filled['fill'] as { txHash: `0x${string}` }).txHash;
    const { blockNumber } = await bot.trader.client.getTransactionReceipt({ hash });
    chain.setOraclePolicy(null, { mode: 'hold' }); // or it answers the request again
    try {
      await reorgAway(chain, bot.trader.client, blockNumber);
      await page.getByText('Nothing has been executed for this account yet.').waitFor();
    } finally {
      chain.setOraclePolicy(null, { mode: 'auto' });
    }
    await tab(page, 'Journal').click();
    await page.getByLabel('Kind').selectOption('correction');
    await page.locator('tr.correction', { hasText: 'a reorganisation undid fill' }).waitFor();
    expect(await shootAll(page, 'account-corrections')).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });

  it('dims what it shows when the line is cut, and has missed nothing when it is back', async () => {
    const bot = await newAgentTrader(venue, chain);
    await bot.place(LIMIT, 'open');
    const line = await openCutLine(venue.url);
    const { page, close } = await browser.open();
    await enter(page, await keyOf(bot), line.url);
    await tab(page, 'Orders').click();
    await rows(page, 'Orders').first().waitFor();
    line.cut();
    await page.locator('.link-state[data-state=LOST]').waitFor();
    await page.locator('.panel[data-state=stale] .age').first().waitFor();
    expect(await page.locator('.panel[data-state=stale]').count()).toBe(2);
    expect(await shootAll(page, 'account-lost')).toEqual([]);
    const filled = await bot.place(MARKET, 'filled');
    line.heal();
    await page.locator(`[data-row="${String(filled['id'])}"] .chip`, { hasText: 'filled' }).waitFor();
    await page.locator('.panel[data-state=ready]').first().waitFor();
    await tab(page, 'Fills').click();
    await rows(page, 'Fills').first().waitFor();
    await close();
    await line.close();
  });

  it('says STALE while the node is away when it is opened, and goes on by itself when the node is back', async () => {
    const bot = await newAgentTrader(venue, chain);
    const key = await keyOf(bot);
    const rpc = (mode: 'down' | 'ok') => venue.post('/sandbox/chain', { action: 'rpc', mode });
    const { page, complaints, close } = await browser.open();
    await rpc('down');
    try {
      await enter(page, key);
      await page.locator('.link-state[data-state=STALE]').waitFor();
      expect(await shootAll(page, 'account-node-away')).toEqual([]);
    } finally {
      await rpc('ok');
    }
    await page.locator('.link-state[data-state=LIVE]').waitFor();
    await page.locator('.summary[data-state=ready]').getByText('USDC in the wallet').waitFor();
    await page.getByText('No position is open.').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  it('asks again where a login was refused for a while, and takes a key that is entered again', async () => {
    const bot = await newAgentTrader(venue, chain);
    const key = await keyOf(bot);
    const { page, complaints, close } = await browser.open();
    const refusals = ['INTERNAL', 'RATE_LIMITED', 'API_KEY_UNKNOWN'];
    await page.routeWebSocket('**/ws', (line) => {
      const server = line.connectToServer();
      line.onMessage((message) => {
        const code = String(message).includes('"auth"') ? refusals.shift() : undefined;
        if (code === undefined) server.send(message);
        else line.send(JSON.stringify({ op: 'error', code, message: 'Refused by the test.', details: {} }));
      });
    });
    await page.goto(`${venue.url}/account`);
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Show account' }).click();
    await page.getByRole('alert').getByText('INTERNAL').waitFor();
    await page.getByText('Asking whose key this is').waitFor();
    await page.locator('.link-state[data-state=STALE]').waitFor();
    await page.getByRole('alert').getByText('RATE_LIMITED').waitFor();
    await page.getByRole('alert').getByText('API_KEY_UNKNOWN').waitFor();
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Show account' }).click();
    await tab(page, 'Positions').waitFor();
    await page.locator('.link-state[data-state=LIVE]').waitFor();
    expect(refusals).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });

  it('draws the newest two hundred orders, older ones when asked, and counts all that are open', async () => {
    const bot = await newAgentTrader(venue, chain);
    const { id } = (await bot.place(LIMIT, 'open')) as { id: string };
    const { page, complaints, close } = await browser.open();
    await page.route('**/orders/history?*', async (route) => {
      const answer = await route.fetch();
      const { data } = (await answer.json()) as { data: Json[] };
      const older = Array.from({ length: 250 }, (_, at) => ({ ...data[0], id: `${at + 1}${id}`, createdAt: at + 1 }));
      await route.fulfill({ response: answer, json: { data: [...data, ...older], nextCursor: null } });
    });
    await enter(page, await keyOf(bot));
    await tab(page, 'Orders').click();
    await rows(page, 'Orders').first().waitFor();
    expect(await tab(page, 'Orders').textContent()).toBe('Orders251 open');
    expect(await rows(page, 'Orders').count()).toBe(200);
    await page.getByRole('button', { name: 'Show older' }).click();
    await rows(page, 'Orders').nth(250).waitFor();
    expect(await page.getByRole('button', { name: 'Show older' }).count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  it('opens the demo trader of a sandbox with one button, marked as such', async () => {
    const { page, complaints, close } = await browser.open();
    await page.goto(`${venue.url}/account`);
    await page.locator('.sandbox-only').getByText('SANDBOX ONLY').waitFor();
    await page.getByRole('button', { name: 'Show the native demo trader' }).click();
    await tab(page, 'Positions').waitFor();
    const { address } = venue.controls.accounts.trader;
    await page.locator(`.summary code[title="${address}" i]`).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });
});
