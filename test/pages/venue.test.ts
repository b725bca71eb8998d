import type { Page } from 'playwright-core';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { eventually } from '../harness/time/eventually.js';
import { describePages, openBrowser, seriousFindings, shootAll, type OpenPageOptions, type TestBrowser, type TestPage } from './browser.js';
import { openCutLine } from './cut-line.js';

/** What Chromium writes by itself when a connection ends. */
const CUT = [/WebSocket connection to .* failed/, /Failed to load resource/];
const ALL_CANDLES = '[data-candles="500"]';

describePages('the page of the venue', () => {
  let venue: TestVenue;
  let browser: TestBrowser;
  let opened: TestPage | null = null;

  beforeAll(async () => {
    venue = await startOwnVenue({ SANDBOX_PRICE_MS: '250' });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await venue.stop();
  });
  afterEach(async () => {
    await opened?.close();
    opened = null;
    await venue.post('/sandbox/reset', {});
  });

  const open = async (options: OpenPageOptions = {}, url = venue.url): Promise<Page> => {
    opened = await browser.open(options);
    await opened.page.goto(`${url}/`);
    await opened.page.locator(ALL_CANDLES).waitFor();
    return opened.page;
  };
  const complaints = (): string[] => opened?.complaints ?? ['no page was opened'];
  const markOf = async (page: Page): Promise<string> => (await page.getByTestId('mark').textContent()) ?? '';
  const stateOf = (page: Page) => page.locator('.link-state');
  const panel = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

  it('shows every part without a message in the console, in order for axe', async () => {
    const page = await open();
    for (const name of ['Candles', 'Virtual book', 'Recent trades', 'Markets', 'Health', 'Connect a bot'])
      expect(await panel(page, name).isVisible()).toBe(true);
    await stateOf(page).filter({ hasText: 'LIVE' }).waitFor();
    expect(await page.locator('.network').textContent()).toBe('SANDBOX');
    expect(await page.getByRole('table', { name: 'Markets' }).locator('tbody tr').count()).toBe(17);
    expect(await page.locator('table.book tbody tr').count()).toBe(17);
    await page.locator('.figures .up, .figures .down').first().waitFor();
    expect(await shootAll(page, 'venue')).toEqual([]);
    expect(complaints()).toEqual([]);
  });

  it('follows a price that is moved in its drawer', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Sandbox controls' }).click();
    await page.getByLabel('New price').fill('61234.5');
    await page.getByRole('button', { name: 'Jump' }).click();
    await eventually(
      () => markOf(page),
      (mark) => mark === '61,234.50',
    );
    expect(await page.locator('.drawer-said').textContent()).toBe('BTC/USD is at 61234.5 now.');
    expect(await page.getByRole('row', { name: /^BTC\/USD/ }).textContent()).toContain('61,234.50');
    expect(await shootAll(page, 'venue-drawer')).toEqual([]);
    expect(complaints()).toEqual([]);
  });

  it('says what the sandbox refused', async () => {
    const page = await open({ expected: CUT });
    await page.getByRole('button', { name: 'Sandbox controls' }).click();
    await page.getByLabel('New price').fill('-1');
    await page.getByRole('button', { name: 'Jump' }).click();
    await page.locator('.drawer-said.down').filter({ hasText: 'VALIDATION_ERROR' }).waitFor();
    expect(complaints()).toEqual([]);
  });

  it('chooses markets by click, search and keys, and keeps the choice in its address', async () => {
    const page = await open();
    await page.getByRole('row', { name: /^ETH\/USD/ }).click();
    await page.locator('h1', { hasText: 'ETH/USD' }).waitFor();
    await page.locator(ALL_CANDLES).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.locator('h1', { hasText: 'SOL/USD' }).waitFor();
    await page.locator('h1').click();
    await page.keyboard.press('ArrowDown');
    await page.locator('h1', { hasText: 'AVAX/USD' }).waitFor();
    expect(page.url()).toMatch(/#AVAX-USD$/);
    await page.locator('body').press('/');
    await page.keyboard.type('eur');
    await eventually(
      () => page.getByRole('table', { name: 'Markets' }).locator('tbody tr').allTextContents(),
      (rows) => rows.length === 1 && rows[0]?.startsWith('EUR/USD') === true,
    );
    await page.keyboard.type('zzz');
    await page.getByText('No market fits.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Stocks' }).click();
    await page.getByRole('row', { name: /^AAPL\/USD/ }).waitFor();
    await page.locator('body').press('2');
    await page.locator('[aria-pressed=true]', { hasText: '5m' }).waitFor();
    await page.locator('body').press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(complaints()).toEqual([]);
  });

  it('gives the lines of a bot with its own URL', async () => {
    const page = await open();
    for (const [client, line] of [
      ['curl', `curl -s ${venue.url}/v1/arbitrum-sepolia/markets`],
      ['ccxt', `public: '${venue.url}/hl/arbitrum-sepolia'`],
      ['nktkas', `apiUrl: '${venue.url}/hl/arbitrum-sepolia/'`],
      ['Python', `Info("${venue.url}/hl/arbitrum-sepolia", skip_ws=True)`],
    ] as const) {
      await page.getByRole('tab', { name: client }).click();
      expect(await page.getByLabel(`Code for ${client}`).textContent()).toContain(line);
    }
    expect(complaints()).toEqual([]);
  });

  it('says STALE when the feed of the gateway falls silent, and LIVE when it goes on', async () => {
    const page = await open({ expected: [/503 \(Service Unavailable\) .*\/ready$/] });
    await venue.post('/sandbox/feed', { paused: true });
    await stateOf(page).filter({ hasText: 'STALE' }).waitFor();
    await panel(page, 'Virtual book').locator('.age').waitFor();
    expect(await shootAll(page, 'venue-stale')).toEqual([]);
    await venue.post('/sandbox/feed', { paused: false });
    await stateOf(page).filter({ hasText: 'LIVE' }).waitFor();
    expect(complaints()).toEqual([]);
  });

  /** Both moments by the clock of the page. */
  const stateAfter = async (page: Page, state: string, act: () => void): Promise<number> => {
    const before = await page.evaluate<number>('Date.now()');
    act();
    await stateOf(page).filter({ hasText: state }).waitFor();
    return Number(await stateOf(page).getAttribute('data-state-at')) - before;
  };
  const SOON_MS = 2_000;

  it('says STALE within two seconds of a cable that is pulled, and goes on by itself', async () => {
    const line = await openCutLine(venue.url);
    const page = await open({ expected: CUT }, line.url);
    expect(await stateAfter(page, 'STALE', () => line.freeze())).toBeLessThanOrEqual(SOON_MS);
    await stateOf(page).filter({ hasText: 'LOST' }).waitFor();
    line.heal();
    await stateOf(page).filter({ hasText: 'LIVE' }).waitFor();
    expect(complaints()).toEqual([]);
    await page.close();
    await line.close();
  });

  it('says LOST within two seconds of a connection that ends, and shows what is new after it', async () => {
    const line = await openCutLine(venue.url);
    const page = await open({ expected: CUT }, line.url);
    expect(await stateAfter(page, 'LOST', () => line.cut())).toBeLessThanOrEqual(SOON_MS);
    await panel(page, 'Virtual book').locator('.age').waitFor();
    await panel(page, 'Health').locator('.problem').waitFor();
    expect(await shootAll(page, 'venue-lost')).toEqual([]);
    await venue.post('/sandbox/price', { market: 'BTC/USD', price: '59111.5' });
    line.heal();
    await eventually(
      () => markOf(page),
      (mark) => mark === '59,111.50',
    );
    expect(complaints()).toEqual([]);
    await page.close();
    await line.close();
  });

  it('shows code, sentence and request id where the gateway refuses, and reads again on request', async () => {
    opened = await browser.open({ expected: CUT });
    const { page } = opened;
    const body = { code: 'NOT_READY', message: 'Not ready: the price feed is down; retry.' };
    await page.route('**/v1/*/markets', (route) => route.fulfill({ status: 503, json: body, headers: { 'X-Request-Id': 'request-7' } }));
    await page.goto(venue.url);
    const note = panel(page, 'Markets').locator('.problem');
    await note.waitFor();
    expect(await note.textContent()).toMatch(/NOT_READY.*retry.*request-7/s);
    expect(await shootAll(page, 'venue-error')).toEqual([]);
    await page.unroute('**/v1/*/markets');
    await note.getByRole('button', { name: 'Retry' }).click();
    await page.locator(ALL_CANDLES).waitFor();
    expect(complaints()).toEqual([]);
  });
});
