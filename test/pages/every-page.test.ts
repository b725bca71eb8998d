import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { describePages, openBrowser, shootAll, type TestBrowser } from './browser.js';

describePages('every page', () => {
  let venue: TestVenue;
  let browser: TestBrowser;
  beforeAll(async () => {
    venue = await startOwnVenue();
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await venue.stop();
  });

  it.each(['/', '/connect', '/account', '/operator'])('%s loads without a message in the console, in order for axe', async (at) => {
    const { page, complaints, close } = await browser.open();
    await page.goto(`${venue.url}${at}`);
    await page.locator('main [data-state], main h1').first().waitFor();
    expect(await page.locator('.header .network').textContent()).toBe('SANDBOX');
    expect(await shootAll(page, at === '/' ? 'venue-first' : `${at.slice(1)}-first`)).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });
});
