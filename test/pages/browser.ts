import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { chromium, type Browser, type BrowserContext, type CDPSession, type Page } from 'playwright-core';

/** Debian's place; CHROMIUM names another, and makes a missing browser a failure. */
const USUAL = '/usr/bin/chromium';
const named = process.env['CHROMIUM'];
const executable = named ?? USUAL;

export const hasBrowser = existsSync(executable);
export const isBrowserNeeded = named !== undefined;
export const browserPath = executable;

/** A suite that needs a browser: shown as skipped, test by test, where there is none and none was demanded. */
export function describePages(name: string, suite: () => void): void {
  if (hasBrowser || isBrowserNeeded) describe(name, suite);
  else describe.skip(name, suite);
}

const ARTEFACTS = path.resolve(import.meta.dirname, '../../artefacts/pages');
/** Slowness is no failure: the machine may be busy with something else. */
const PATIENCE_MS = 100_000;
const WIDE = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export interface OpenPageOptions {
  readonly colorScheme?: 'light' | 'dark';
  readonly isPhone?: boolean;
  /** What a test provokes: a cut makes the browser complain about its connection. */
  readonly expected?: readonly RegExp[];
}

export interface TestPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Everything that was written to the console, thrown, or asked of another host. A page that works leaves it empty. */
  readonly complaints: string[];
  readonly close: () => Promise<void>;
}

export interface TestBrowser {
  open(options?: OpenPageOptions): Promise<TestPage>;
  /** For what belongs to the whole browser, such as processor times. */
  processes(): Promise<CDPSession>;
  close(): Promise<void>;
}

/** `beforeAll(async () => (browser = await openBrowser()))`, `afterAll(() => browser.close())`. */
export async function openBrowser(): Promise<TestBrowser> {
  if (!hasBrowser) throw new Error(`There is no browser at ${executable}: install chromium, or name one with CHROMIUM.`);
  const isRoot = process.getuid?.() === 0;
  const browser: Browser = await chromium.launch({ executablePath: executable, args: isRoot ? ['--no-sandbox'] : [] });
  return {
    async open({ colorScheme = 'light', isPhone = false, expected = [] } = {}) {
      const context = await browser.newContext({ viewport: isPhone ? PHONE : WIDE, colorScheme, hasTouch: isPhone });
      context.setDefaultTimeout(PATIENCE_MS);
      const page = await context.newPage();
      return { page, context, complaints: collectComplaints(page, expected), close: () => context.close() };
    },
    processes: () => browser.newBrowserCDPSession(),
    close: () => browser.close(),
  };
}

function collectComplaints(page: Page, expected: readonly RegExp[]): string[] {
  const complaints: string[] = [];
  const note = (text: string): void => {
    if (!expected.some((pattern) => pattern.test(text))) complaints.push(text);
  };
  page.on('console', (message) => note(`${message.type()}: ${message.text()} ${message.location().url}`));
  page.on('pageerror', (error) => note(`thrown: ${error.stack ?? error.message}`));
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url());
    const own = page.url() === 'about:blank' ? host : new URL(page.url()).host;
    if (/^(?:http|ws)/.test(protocol) && host !== own && !request.isNavigationRequest()) note(`another host: ${request.url()}`);
  });
  return complaints;
}

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Serious and critical findings of axe on the page as it stands, one line each; a page in order has none. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  const violations = await page.evaluate<readonly Violation[]>(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)`,
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, failureSummary = '' }) => `${id} (${help}): ${html.slice(0, 160)} ${failureSummary}`),
    );
}

/** Both themes, and a phone in the dark one: kept in `artefacts/pages`, to be looked at. Returns the findings of axe on all three. */
export async function shootAll(page: Page, name: string): Promise<string[]> {
  mkdirSync(ARTEFACTS, { recursive: true });
  const findings: string[] = [];
  const before = page.viewportSize() ?? WIDE;
  for (const [look, size, colorScheme] of [
    ['dark', WIDE, 'dark'],
    ['light', WIDE, 'light'],
    ['phone', PHONE, 'dark'],
  ] as const) {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-theme=${colorScheme}]`).waitFor({ state: 'attached' });
    await page.screenshot({ path: path.join(ARTEFACTS, `${name}-${look}.png`), fullPage: true, animations: 'disabled' });
    findings.push(...(await seriousFindings(page)).map((finding) => `${look}: ${finding}`));
  }
  await page.setViewportSize(before);
  return findings;
}
