import type { Page } from 'playwright-core';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { startOwnVenue } from '../harness/venue/own-venue.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { describePages, openBrowser, shootAll, type OpenPageOptions, type TestBrowser, type TestPage } from './browser.js';
import { startOtherNode } from './other-node.js';
import { installWallet, type TestWallet, type WalletOptions } from './wallet.js';

const LONG_MS = 60_000;
const TEST_MS = 240_000;

describePages('the connect page', () => {
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

  interface Visit extends TestPage {
    readonly wallet: TestWallet;
    /** Address, headers and body of everything that the page sent. */
    readonly sent: string[];
  }

  /** The page with an injected wallet that holds nothing. */
  async function visit(options: Partial<WalletOptions> = {}, open: OpenPageOptions = {}): Promise<Visit> {
    const opened = await browser.open(open);
    const { page, context } = opened;
    const { definition, rpcUrl } = firstChain(venue);
    const wallet = await installWallet(context, { nodes: new Map([[definition.chainId, rpcUrl]]), ...options });
    const sent: string[] = [];
    page.on('request', (request) => sent.push(`${request.url()} ${JSON.stringify(request.headers())} ${request.postData() ?? ''}`));
    page.setDefaultTimeout(LONG_MS);
    await page.goto(`${venue.url}/connect`);
    return { ...opened, wallet, sent };
  }

  const connect = async (page: Page): Promise<void> => {
    await page.getByRole('button', { name: 'Test wallet' }).click();
    await page.getByRole('button', { name: 'Use another wallet' }).waitFor();
  };
  const toChain = async (page: Page): Promise<void> => {
    await page.getByRole('button', { name: /^Switch to/ }).click();
    await page.locator('.column.native .lines').waitFor();
  };
  const line = (page: Page, api: string, check: string) => page.locator(`.column.${api} [data-check=${check}]`);
  const isMended = (page: Page, api: string, check: string): Promise<void> =>
    page.locator(`.column.${api} [data-check=${check}][data-ok=true]`).waitFor();

  async function fundAndApprove(page: Page): Promise<void> {
    await line(page, 'native', 'balance').getByRole('button', { name: /^Fund/ }).click();
    await isMended(page, 'native', 'balance');
    const allowance = line(page, 'native', 'allowance');
    await allowance.getByLabel('Amount').fill('2500');
    await allowance.getByRole('button', { name: 'Approve 2500 USDC' }).click();
    await isMended(page, 'native', 'allowance');
  }

  /** Makes a key, says that it is stored, and has the wallet sign. Answers the key as it was shown. */
  async function makeAgent(page: Page, api: 'native' | 'hyperliquid'): Promise<string> {
    await line(page, api, 'agent').getByRole('button', { name: 'Make an agent' }).click();
    const card = page.locator('#agent-card');
    await card.getByRole('button', { name: 'Make a key in this browser' }).click();
    const key = (await card.locator('.secret').textContent()) ?? '';
    expect(await card.getByRole('button', { name: 'Hide the key and go on' }).isDisabled()).toBe(true);
    await card.getByLabel('I stored it').check();
    await card.getByRole('button', { name: 'Hide the key and go on' }).click();
    expect(await card.locator('.secret').count()).toBe(0);
    await card.getByText('It cannot withdraw, transfer or approve funds').waitFor();
    await card.getByRole('button', { name: 'Sign in the wallet' }).click();
    await isMended(page, api, 'agent');
    return key;
  }

  async function firstFill(page: Page): Promise<string> {
    const card = page.locator('#order-card');
    await card.getByRole('button', { name: 'Place the order' }).click();
    await card.locator('[data-passed=Filled], .problem').first().waitFor();
    expect(await card.locator('.problem').allTextContents()).toEqual([]);
    return (await card.locator('[data-passed=Filled]').textContent()) ?? '';
  }

  it(
    'leads an empty wallet to its first fill on the native API, with a key that is never sent',
    async () => {
      const { page, wallet, sent, complaints, close } = await visit();
      await connect(page);
      expect(await shootAll(page, 'connect-other-chain')).toEqual([]);
      await toChain(page);
      expect(await page.locator('.column.native .chip').textContent()).toBe('not ready yet');
      expect(await shootAll(page, 'connect-empty-wallet')).toEqual([]);

      await fundAndApprove(page);
      const key = await makeAgent(page, 'native');
      expect(key).toMatch(/^0x[0-9a-f]{64}$/);
      await line(page, 'native', 'delegation').getByRole('button', { name: 'Set the delegate' }).click();
      await isMended(page, 'native', 'delegation');
      await line(page, 'native', 'gas')
        .getByRole('button', { name: /to the agent$/ })
        .click();
      await isMended(page, 'native', 'gas');
      await page.locator('.column.native .chip.good').waitFor();

      expect(await firstFill(page)).toMatch(/BTC at [\d,.]+\.$/);
      expect(await page.locator('#order-card [data-passed] strong').allTextContents()).toEqual(['Prepared', 'Verified', 'Sent', 'Filled']);
      expect(await shootAll(page, 'connect-native-filled')).toEqual([]);

      const filled = await venue.get(`/v1/arbitrum-sepolia/readiness/${wallet.address}`);
      expect(filled.body).toMatchObject({ ready: { native: true } });
      expect(sent.filter((request) => request.toLowerCase().includes(key.slice(2)))).toEqual([]);
      expect(
        await page.evaluate('JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), location.href])'),
      ).not.toContain(key.slice(2));
      expect(wallet.asked).toContain('eth_sendRawTransaction');
      expect(complaints).toEqual([]);
      await close();
    },
    TEST_MS,
  );

  it(
    'leads an empty wallet to its first fill on the Hyperliquid API, with a key that is never sent',
    async () => {
      const { page, sent, complaints, close } = await visit();
      await connect(page);
      await toChain(page);
      await fundAndApprove(page);
      const key = await makeAgent(page, 'hyperliquid');
      await line(page, 'hyperliquid', 'relayer').getByRole('button', { name: 'Set the delegate' }).click();
      await isMended(page, 'hyperliquid', 'relayer');
      await page.locator('.column.hyperliquid .chip.good').waitFor();
      expect(await firstFill(page)).toMatch(/BTC at [\d,.]+\.$/);
      expect(await shootAll(page, 'connect-hyperliquid-filled')).toEqual([]);
      expect(sent.some((request) => request.includes('/exchange') && request.includes('"type":"order"'))).toBe(true);
      expect(sent.filter((request) => request.toLowerCase().includes(key.slice(2)))).toEqual([]);
      expect(complaints).toEqual([]);
      await close();
    },
    TEST_MS,
  );

  it(
    'finds the fill of an order on the Hyperliquid API whose answer was lost, and does not send it again',
    async () => {
      const { page, close } = await visit();
      await connect(page);
      await toChain(page);
      await fundAndApprove(page);
      await makeAgent(page, 'hyperliquid');
      await line(page, 'hyperliquid', 'relayer').getByRole('button', { name: 'Set the delegate' }).click();
      await isMended(page, 'hyperliquid', 'relayer');
      await page.locator('.column.hyperliquid .chip.good').waitFor();
      let orders = 0;
      await page.route('**/exchange', async (route) => {
        orders += 1;
        await route.fetch(); // the gateway takes the order
        await route.abort('connectionreset');
      });
      expect(await firstFill(page)).toMatch(/BTC at [\d,.]+\.$/);
      expect(orders).toBe(1);
      await close();
    },
    TEST_MS,
  );

  it(
    'takes a refusal in the wallet as a decision, and goes on from there',
    async () => {
      const { page, wallet, complaints, close } = await visit();
      wallet.refuseNext('eth_requestAccounts');
      await page.getByRole('button', { name: 'Test wallet' }).click();
      await page.locator('[data-step=refused]').waitFor();
      await connect(page);
      wallet.refuseNext('wallet_switchEthereumChain');
      await page.getByRole('button', { name: /^Switch to/ }).click();
      await page.locator('[data-step=refused]').waitFor();
      await toChain(page);

      await line(page, 'native', 'balance').getByRole('button', { name: /^Fund/ }).click();
      await isMended(page, 'native', 'balance');
      const allowance = line(page, 'native', 'allowance');
      await allowance.getByLabel('Amount').fill('10');
      wallet.refuseNext('eth_sendTransaction');
      await allowance.getByRole('button', { name: 'Approve 10 USDC' }).click();
      await allowance.locator('[data-step=refused]').waitFor();
      expect(await allowance.locator('.problem').count()).toBe(0);
      expect(await shootAll(page, 'connect-refused')).toEqual([]);
      await allowance.getByRole('button', { name: 'Approve 10 USDC' }).click();
      await isMended(page, 'native', 'allowance');
      expect(complaints).toEqual([]);
      await close();
    },
    TEST_MS,
  );

  it(
    'adds the chain to a wallet that does not know it, with the node of the sandbox',
    async () => {
      const { page, wallet, complaints, close } = await visit({ knows: [] });
      await connect(page);
      await toChain(page);
      expect(wallet.asked.filter((method) => method.startsWith('wallet_'))).toEqual([
        'wallet_switchEthereumChain',
        'wallet_addEthereumChain',
        'wallet_switchEthereumChain',
      ]);
      expect(wallet.chainId()).toBe(firstChain(venue).definition.chainId);
      expect(wallet.offered).toEqual([firstChain(venue).rpcUrl]);
      expect(complaints).toEqual([]);
      await close();
    },
    TEST_MS,
  );

  it(
    'asks a wallet whose node is not the sandbox for nothing, until its node is the sandbox’s',
    async () => {
      const { definition, rpcUrl } = firstChain(venue);
      const other = await startOtherNode(definition.chainId);
      const { page, wallet, complaints, close } = await visit({
        nodes: new Map([[definition.chainId, other.url]]),
        chainId: definition.chainId,
      });
      await connect(page);
      const add = page.getByRole('button', { name: 'Add the sandbox’s node' });
      await add.waitFor();
      expect(await page.locator('.column, #agent-card, #order-card').count()).toBe(0);
      expect(await page.getByRole('region', { name: /^(?:Agents|API keys)$/ }).count()).toBe(0);
      expect(await shootAll(page, 'connect-other-node')).toEqual([]);
      expect(wallet.asked.filter((method) => /sign|send/i.test(method))).toEqual([]);

      await add.click();
      await page.locator('.column.native .lines').waitFor();
      expect(wallet.offered).toEqual([rpcUrl]);
      await fundAndApprove(page);
      expect(other.asked.filter((method) => /send/i.test(method))).toEqual([]);
      expect(complaints).toEqual([]);
      await close();
      await other.close();
    },
    TEST_MS,
  );

  it(
    'takes the cards away from a wallet that leaves the sandbox’s node',
    async () => {
      const { definition, rpcUrl } = firstChain(venue);
      const other = await startOtherNode(definition.chainId);
      const { page, wallet, close } = await visit({ chainId: definition.chainId });
      await connect(page);
      await page.locator('.column.native .lines').waitFor();
      wallet.useNode(definition.chainId, other.url);
      await page.getByRole('button', { name: 'Add the sandbox’s node' }).waitFor();
      await page.locator('.column').first().waitFor({ state: 'detached' });
      wallet.useNode(definition.chainId, rpcUrl);
      await page.locator('.column.native .lines').waitFor();
      await close();
      await other.close();
    },
    TEST_MS,
  );

  it(
    'shows no wallet where the sandbox hides its node from the page, and says why',
    async () => {
      const { page, context, complaints, close } = await browser.open({ expected: [/status of 4\d\d/] });
      await installWallet(context, { nodes: new Map() });
      await page.route('**/sandbox', (route) =>
        route.continue({ headers: { ...route.request().headers(), 'x-forwarded-for': '192.0.2.7' } }),
      );
      await page.goto(`${venue.url}/connect`);
      await page.getByText('shows its node and its demo wallets to pages on its own machine only').waitFor();
      await page.getByRole('alert').getByText('The sandbox is controlled from its own machine only').waitFor();
      expect(await page.getByRole('button', { name: /wallet/i }).count()).toBe(0);
      expect(await shootAll(page, 'connect-sandbox-elsewhere')).toEqual([]);
      expect(complaints).toEqual([]);
      await close();
    },
    TEST_MS,
  );

  it(
    'revokes an agent and its delegation, and makes, lists and revokes an API key',
    async () => {
      const { page, complaints, close } = await visit();
      await connect(page);
      await toChain(page);
      await fundAndApprove(page);
      await makeAgent(page, 'native');
      await line(page, 'native', 'delegation').getByRole('button', { name: 'Set the delegate' }).click();
      await isMended(page, 'native', 'delegation');
      const agents = page.getByRole('region', { name: 'Agents' });
      const keys = page.getByRole('region', { name: 'API keys' });

      await keys.getByRole('button', { name: /^Make a key/ }).click();
      expect(await keys.locator('.secret').textContent()).toMatch(/^dg_/);
      await keys.getByLabel('I stored it').check();
      await keys.getByRole('button', { name: 'Hide the key and go on' }).click();
      await keys.locator('.row').getByText('account page').waitFor();
      await keys.getByRole('link', { name: 'open the account' }).waitFor();
      expect(await shootAll(page, 'connect-agents-and-keys')).toEqual([]);

      await agents.getByRole('button', { name: 'Revoke' }).click();
      const remove = agents.getByRole('button', { name: 'Remove the delegate' });
      await remove.waitFor();
      // The page reads the lines again every few seconds; the row has to outlive that.
      for (let polls = 0; polls < 2; polls += 1) await page.waitForResponse((response) => response.url().includes('/readiness/'));
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      await agents.getByText('No agent in force has this address').waitFor();
      await remove.click();
      await agents.getByText('No agent is in force').waitFor();
      await line(page, 'native', 'agent').getByRole('button', { name: 'Make an agent' }).waitFor();

      await keys.getByRole('button', { name: 'Revoke' }).click();
      await keys.getByText('The list of keys is shown once this page has one').waitFor();
      expect(complaints).toEqual([]);
      await close();
    },
    TEST_MS,
  );

  it(
    'offers the sandbox’s demo wallets where the browser has none, and trades with the empty one',
    async () => {
      const { page, complaints, close } = await browser.open({ isPhone: true });
      page.setDefaultTimeout(LONG_MS);
      await page.goto(`${venue.url}/connect`);
      await page.getByText('This browser has no wallet.').waitFor();
      expect(await shootAll(page, 'connect-no-wallet')).toEqual([]);
      await page.getByRole('button', { name: 'New empty wallet' }).click();
      await page.locator('.column.native .lines').waitFor();
      await fundAndApprove(page);
      await makeAgent(page, 'native');
      await line(page, 'native', 'delegation').getByRole('button', { name: 'Set the delegate' }).click();
      await isMended(page, 'native', 'delegation');
      await line(page, 'native', 'gas')
        .getByRole('button', { name: /to the agent$/ })
        .click();
      await isMended(page, 'native', 'gas');
      expect(await firstFill(page)).toMatch(/BTC at/);
      expect(complaints).toEqual([]);
      await close();
    },
    TEST_MS,
  );
});
