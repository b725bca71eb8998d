import { Wallet } from 'ethers';
import type { Page } from 'playwright-core';
import { order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { eventually } from '../harness/time/eventually.js';
import { newFacadeTrader, type FacadeTrader } from '../harness/traders/facade-trader.js';
import { startOwnVenue, type Reply, type TestVenue } from '../harness/venue/own-venue.js';
import { startSecondGateway } from '../harness/venue/second-gateway.js';
import { describePages, openBrowser, shootAll, type TestBrowser } from './browser.js';
import { openCutLine } from './cut-line.js';

const CHAIN = 'arbitrum-sepolia';
const TOKEN = 'the-token-of-the-operator';
const REFUSED = [/status of 401/];
const RESTING = orderAction(order({ p: '30000', s: '0.1', t: { limit: { tif: 'Gtc' } } }));

describePages("the operator's page", () => {
  let venue: TestVenue;
  let browser: TestBrowser;
  let bot: FacadeTrader;
  beforeAll(async () => {
    venue = await startOwnVenue({ OPERATOR_TOKEN: TOKEN, FACADE_HOLD_MS: '0', RATE_LIMIT_AGENT_WRITES: '1000' });
    browser = await openBrowser();
    bot = await newFacadeTrader(venue);
    await trade();
    await eventually(
      () => ask('/relayer/costs?chain=arbitrum-sepolia'),
      ({ body }) => (body as { total: { transactions: number } }).total.transactions > 0,
    );
  });
  afterAll(async () => {
    await browser.close();
    await venue.stop();
  });

  const ask = (path: string): Promise<Reply> => venue.get(path, { Authorization: `Bearer ${TOKEN}` });
  const trade = async (): Promise<unknown> => (await postExchange(venue.url, CHAIN, await signL1(new Wallet(bot.agentKey), RESTING))).body;

  async function enter(page: Page, url = venue.url): Promise<void> {
    await page.goto(`${url}/operator`);
    await page.getByLabel('Operator token').fill(TOKEN);
    await page.getByRole('button', { name: 'Open' }).click();
    await page.locator('.relay-wallet').first().waitFor();
  }

  const panel = (page: Page, name: string) => page.getByRole('region', { name });
  const standing = async () => {
    const { body } = await ask('/relayer/status');
    return (body as { chains: { wallets: { switch: { mode: string; reason: string | null } }[] }[] }).chains[0]?.wallets[0]?.switch;
  };

  it('asks nothing of the relayer without the token, and keeps a good one in the tab alone', async () => {
    const { page, context, complaints, close } = await browser.open({ expected: REFUSED });
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${venue.url}/operator`);
    await page.getByLabel('Operator token').waitFor();
    expect(await shootAll(page, 'operator-prompt')).toEqual([]);
    expect(asked.filter((path) => !/^\/(?:operator|assets\/.*|favicon\.svg|)$/.test(path))).toEqual([]);

    await page.getByLabel('Operator token').fill(`${TOKEN}x`);
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('alert').getByText('UNAUTHENTICATED').waitFor();
    expect(await page.getByRole('alert').locator('code').textContent()).toMatch(/\S{8}/);
    expect(asked.filter((path) => path.startsWith('/relayer'))).toEqual(['/relayer/switches']);
    expect(await shootAll(page, 'operator-refused')).toEqual([]);

    await page.getByLabel('Operator token').fill(TOKEN);
    await page.getByRole('button', { name: 'Open' }).click();
    await page.locator('.relay-wallet').waitFor();
    expect(page.url()).toBe(`${venue.url}/operator`);
    expect(asked.join()).not.toContain(TOKEN);
    expect(await page.evaluate<string>('JSON.stringify(localStorage)')).not.toContain(TOKEN);
    expect(await context.cookies()).toEqual([]);
    await page.reload();
    await page.locator('.relay-wallet').waitFor();
    const other = await context.newPage();
    await other.goto(`${venue.url}/operator`);
    await other.getByLabel('Operator token').waitFor();
    await page.getByRole('button', { name: 'Forget this token' }).click();
    await page.getByLabel('Operator token').waitFor();
    expect(await page.evaluate<string>('JSON.stringify(sessionStorage)')).not.toContain(TOKEN);
    expect(complaints).toEqual([]);
    await close();
  });

  it('shows money, lanes, gas and quotas as the relayer has them', async () => {
    const { page, complaints, close } = await browser.open();
    await enter(page);
    const card = page.locator('.relay-wallet').first();
    const address = venue.controls.relayer.toLowerCase();
    expect(await card.locator(`code[title="${address}"]`).count()).toBe(1);
    await card.getByText('Balance').waitFor();
    expect(await card.textContent()).toMatch(/Balance\s*\d+(?:\.\d+)? ETHalert below 0\.01Runway.*enough.*Burn, last 24 h/);
    await page.locator('.charts canvas').first().waitFor();
    expect(await page.locator('[role=img][aria-label^="Gas paid per hour"]').count()).toBe(1);
    await panel(page, 'Burn and balance').getByRole('button', { name: '30 days' }).click();
    await page.locator('[role=img][aria-label^="Gas paid per day"]').waitFor();
    const lane = page.getByRole('table', { name: 'Lanes' }).locator('tbody tr').first();
    expect(await lane.textContent()).toMatch(/ok.*none/);
    await panel(page, 'Gas by action').getByText('order', { exact: true }).waitFor();
    await panel(page, 'Gas by outcome').getByText('mined', { exact: true }).waitFor();
    await panel(page, 'Gas by trader').locator(`li[title="${bot.address.toLowerCase()}"]`).waitFor();
    const quota = page.getByRole('table', { name: 'Rules and quotas used' }).locator('tbody tr').first();
    expect(await quota.textContent()).toMatch(/allowed\d+/);
    expect(await shootAll(page, 'operator')).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });

  it('pauses and resumes a wallet with a reason that bots get', async () => {
    const { page, complaints, close } = await browser.open();
    await enter(page);
    await page.locator('.relay-wallet').getByRole('button', { name: 'Pause…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('New actions of bots are refused, with your reason.').waitFor();
    await dialog.getByText('Transactions with a nonce are finished').waitFor();
    const confirm = dialog.getByRole('button', { name: 'Pause', exact: true });
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill('the node is being replaced');
    expect(await shootAll(page, 'operator-pause')).toEqual([]);
    expect(await standing()).toMatchObject({ mode: 'running' });
    await confirm.click();
    await page.locator('.relay-wallet').getByText('the node is being replaced').waitFor();
    expect(await standing()).toMatchObject({ mode: 'paused', reason: 'the node is being replaced' });
    expect(JSON.stringify(await trade())).toContain('the node is being replaced');
    expect(await shootAll(page, 'operator-paused')).toEqual([]);

    await panel(page, 'Pause, drain, resume')
      .getByRole('group', { name: 'Switch Arbitrum Sepolia' })
      .getByRole('button', { name: 'Resume…' })
      .click();
    await dialog.getByRole('textbox').fill('the new node answers');
    await dialog.getByRole('button', { name: 'Resume', exact: true }).click();
    await page.locator('.relay-wallet .chip', { hasText: 'running' }).waitFor();
    expect(await standing()).toMatchObject({ mode: 'running', reason: null });
    expect(JSON.stringify(await trade())).toContain('resting');
    expect(complaints).toEqual([]);
    await close();
  });

  it('wants the name of the chain typed on a real network', async () => {
    const real = await startSecondGateway({ ...venue, config: { ...venue.config, mode: 'production' } }, { relays: true });
    const { page, complaints, close } = await browser.open();
    await enter(page, real.url);
    expect(await page.getByText('SANDBOX').count()).toBe(0);
    await page.locator('.relay-wallet').getByRole('button', { name: 'Pause…' }).click();
    const dialog = page.getByRole('dialog');
    const confirm = dialog.getByRole('button', { name: 'Pause', exact: true });
    await dialog.getByLabel(/^Reason/).fill('a drill');
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByLabel(/^This is a real network/).fill('Arbitrum');
    expect(await confirm.isDisabled()).toBe(true);
    await dialog.getByLabel(/^This is a real network/).fill('Arbitrum Sepolia');
    expect(await confirm.isDisabled()).toBe(false);
    expect(await shootAll(page, 'operator-real-network')).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await standing()).toMatchObject({ mode: 'running' });
    expect(complaints).toEqual([]);
    await close();
    await real.stop();
  });

  it('shows open alerts first, and tries a message again that was given up', async () => {
    const { alerts } = venue.gateway.store;
    const name = { kind: 'schedule-given-up', chain: CHAIN, subject: '0xabc' } as const;
    const facts = { ...name, message: 'A scheduled cancel was given up.', details: {}, expiresAt: null };
    await alerts.raise(facts, { at: Date.now(), isSent: true, repeatMs: null });
    const [delivery] = await alerts.claim(Date.now(), Date.now() + 60_000, 10);
    await alerts.failed(delivery?.id ?? 0n, 'answered 500', null);
    const { page, complaints, close } = await browser.open();
    await enter(page);
    expect(await page.locator('section.panel').first().textContent()).toMatch(
      /^Open alerts \(1\).*schedule given up.*A scheduled cancel was given up\./,
    );
    const row = page.getByRole('table', { name: 'Alert deliveries' }).locator('tbody tr').first();
    expect(await row.textContent()).toMatch(/given up.*answered 500/);
    expect(await shootAll(page, 'operator-alert')).toEqual([]);
    await row.getByRole('button', { name: 'Try again' }).click();
    await row.getByText('waiting').waitFor();
    expect((await ask('/relayer/alerts')).body).toMatchObject({ dead: [], pending: [{ id: String(delivery?.id) }] });
    await alerts.recover(name, { at: Date.now(), isSent: false, message: 'It was sent by hand.' });
    await page.getByText('Nothing is wrong.').waitFor();
    await page.getByRole('table', { name: 'Recovered alerts' }).getByText('It was sent by hand.').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  it('says how old its figures are when the gateway does not answer, and goes on when it does', async () => {
    const line = await openCutLine(venue.url);
    const { page, close } = await browser.open();
    await enter(page, line.url);
    line.cut();
    const wallets = panel(page, 'Wallets');
    await wallets.getByText('NOT_REACHED').waitFor();
    expect(await wallets.locator('.age').textContent()).toMatch(/^\d+ s old$/);
    await page.locator('.link-state[data-state=LOST]').waitFor();
    expect(await shootAll(page, 'operator-lost')).toEqual([]);
    line.heal();
    await wallets.getByRole('button', { name: 'Retry' }).click();
    await wallets.getByText('NOT_REACHED').waitFor({ state: 'detached' });
    await close();
    await line.close();
  });

  it('cannot be driven by a page of another origin', async () => {
    const change = (origin: string) =>
      fetch(`${venue.url}/relayer/switches`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json', Origin: origin },
        body: JSON.stringify({ mode: 'running' }),
      }).then(async (response) => [response.status, ((await response.json()) as { code?: string }).code]);
    expect(await change('https://elsewhere.example')).toEqual([422, 'UNSUPPORTED']);
    expect(await change(venue.url)).toEqual([200, undefined]);
  });
});

describePages("the operator's page of a sandbox that made its own token", () => {
  it('offers that token by a button, marked as such', async () => {
    const venue = await startOwnVenue();
    const browser = await openBrowser();
    const { page, complaints } = await browser.open();
    await page.goto(`${venue.url}/operator`);
    await page.locator('.sandbox-only').getByText('SANDBOX ONLY').waitFor();
    await page.getByRole('button', { name: 'Use the token of this sandbox' }).click();
    await page.locator('.relay-wallet').waitFor();
    expect(complaints).toEqual([]);
    await browser.close();
    await venue.stop();
  });
});
