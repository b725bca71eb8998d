import type { CDPSession } from 'playwright-core';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';
import { describePages, openBrowser, type TestBrowser } from './browser.js';

/** PAGE_MINUTES shortens the run. */
const MINUTES = Number(process.env['PAGE_MINUTES'] ?? 10);
const PRICE_MS = 50;
const WARM_UP_MS = 30_000;
const SAMPLES = 10;
const CORE_SHARE = 0.2;
/** What a heap may differ by from one collection to the next. */
const SLACK_BYTES = 2 * 1024 * 1024;

interface Sample {
  readonly heapBytes: number;
  /** Processor time of the page's process. */
  readonly busySeconds: number;
  readonly atSeconds: number;
}

describePages('the page of the venue, left open', () => {
  let venue: TestVenue;
  let browser: TestBrowser;
  beforeAll(async () => {
    venue = await startOwnVenue({ SANDBOX_PRICE_MS: String(PRICE_MS) });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await venue.stop();
  });

  it(
    `takes 20 prices a second for ${MINUTES} minutes with a flat heap and less than a fifth of a core`,
    async () => {
      const { page, context, complaints } = await browser.open();
      await page.goto(venue.url);
      await page.locator('[data-candles="500"]').waitFor();
      const devtools = await context.newCDPSession(page);
      await devtools.send('Performance.enable');
      const processes = await browser.processes();
      let frames = 0;
      await devtools.send('Network.enable');
      devtools.on(
        'Network.webSocketFrameReceived',
        ({ response }) => (frames += response.payloadData.startsWith('{"channel":"prices"') ? 1 : 0),
      );
      const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
      await pause(WARM_UP_MS);
      const samples: Sample[] = [await sample(devtools, processes)];
      const framesBefore = frames;
      for (let round = 0; round < SAMPLES; round += 1) {
        await pause((MINUTES * 60_000) / SAMPLES);
        samples.push(await sample(devtools, processes));
      }
      const [first, last] = [samples[0], samples.at(-1)];
      if (first === undefined || last === undefined) throw new Error('there are no samples');
      const seconds = last.atSeconds - first.atSeconds;
      const share = (last.busySeconds - first.busySeconds) / seconds;
      const perSecond = (frames - framesBefore) / seconds;
      const half = samples.slice(Math.floor(samples.length / 2));
      const grown = half.map(({ heapBytes }) => heapBytes - first.heapBytes);
      console.info(
        `${perSecond.toFixed(1)} price messages a second, ${(share * 100).toFixed(1)} % of a core, heap ${samples.map(({ heapBytes }) => (heapBytes / 2 ** 20).toFixed(1)).join(' ')} MiB`,
      );
      expect(Math.min(...grown)).toBeLessThan(SLACK_BYTES);
      expect(share).toBeLessThan(CORE_SHARE);
      expect(complaints).toEqual([]);
    },
    (MINUTES + 5) * 60_000,
  );
});

/** After a collection, so that only what is held counts. Processor time, because a busy machine makes everything take longer. */
async function sample(devtools: CDPSession, processes: CDPSession): Promise<Sample> {
  await devtools.send('HeapProfiler.collectGarbage');
  const { metrics } = await devtools.send('Performance.getMetrics');
  const of = (name: string): number => metrics.find((metric) => metric.name === name)?.value ?? 0;
  const { processInfo } = await processes.send('SystemInfo.getProcessInfo');
  const busySeconds = processInfo.filter(({ type }) => type === 'renderer').reduce((sum, { cpuTime }) => sum + cpuTime, 0);
  return { heapBytes: of('JSHeapUsedSize'), busySeconds, atSeconds: of('Timestamp') };
}
