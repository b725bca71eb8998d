import { browserPath, hasBrowser, isBrowserNeeded } from './browser.js';

describe('the browser of the page tests', () => {
  const isSkipped = !hasBrowser && !isBrowserNeeded;
  it(isSkipped ? `is missing: there is no ${browserPath}, so every page test is skipped` : `is at ${browserPath}`, () =>
    expect(hasBrowser || isSkipped).toBe(true),
  );
});
