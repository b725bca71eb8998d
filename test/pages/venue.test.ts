import type { Page } from 'playwright-core';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { eventually } from '../harness/time/eventually.js';
import { describePages, openBrowser, seriousFindings, shootAll, type OpenPageOptions, type TestBrowser, type TestPage } from './browser.js';
import { openCutLine, type CutLine } from './cut-line.js';

/** What Chromium writes by itself when a connection ends. */
const CUT = [/WebSocket connection to .* failed/, /Failed to load resource/];
/** Chromium reports the status of `/ready`; a venue on a busy machine is not ready for a moment, and the page shows that. */
const UNREADY = /503 \(Service Unavailable\) .*\/ready$/;
const SOON_MS = 2_000;
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
    opened = await browser.open({ ...options, expected: [...(options.expected ?? []), UNREADY] });
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
    const page = await open();
    await venue.post('/sandbox/feed', { paused: true });
    await stateOf(page).filter({ hasText: 'STALE' }).waitFor();
    await panel(page, 'Virtual book').locator('.age').waitFor();
    expect(await shootAll(page, 'venue-stale')).toEqual([]);
    await venue.post('/sandbox/feed', { paused: false });
    await stateOf(page).filter({ hasText: 'LIVE' }).waitFor();
    expect(complaints()).toEqual([]);
  });

  /** For how long nothing had arrived when the page said so, by its own clock: of three cuts the one in which the machine was least busy. */
  const noticed = async (page: Page, state: string, line: CutLine, cut: () => void): Promise<number> => {
    const silences: number[] = [];
    for (let round = 0; round < 3 && Math.min(...silences) > SOON_MS; round += 1) {
      line.heal();
      await stateOf(page).filter({ hasText: 'LIVE' }).waitFor();
      cut();
      await stateOf(page).filter({ hasText: state }).waitFor();
      silences.push(Number(await stateOf(page).getAttribute('data-silent-ms')));
    }
    return Math.min(...silences);
  };

  it('says STALE within two seconds of a cable that is pulled, then LOST, and goes on by itself', async () => {
    const line = await openCutLine(venue.url);
    const page = await open({ expected: CUT }, line.url);
    expect(await noticed(page, 'STALE', line, () => line.freeze())).toBeLessThanOrEqual(SOON_MS);
    await stateOf(page).filter({ hasText: 'LOST' }).waitFor();
    line.heal();
    await stateOf(page).filter({ hasText: 'LIVE' }).waitFor();
    expect(complaints()).toEqual([]);
    await page.close();
    await line.close();
  });

  it('says LOST where the first connection is refused again and again, and goes on when one is taken', async () => {
    let isRefusing = true;
    opened = await browser.open({ expected: [...CUT, UNREADY] });
    const { page } = opened;
    await page.routeWebSocket('**/ws', (socket) => void (isRefusing ? socket.close() : socket.connectToServer()));
    await page.goto(`${venue.url}/`);
    await stateOf(page).filter({ hasText: 'LOST' }).waitFor();
    isRefusing = false;
    await stateOf(page).filter({ hasText: 'LIVE' }).waitFor();
    await page.locator(ALL_CANDLES).waitFor();
    expect(complaints()).toEqual([]);
  });

  it('says LOST within two seconds of a connection that ends, and shows what is new after it', async () => {
    const line = await openCutLine(venue.url);
    const page = await open({ expected: CUT }, line.url);
    expect(await noticed(page, 'LOST', line, () => line.cut())).toBeLessThanOrEqual(SOON_MS);
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
