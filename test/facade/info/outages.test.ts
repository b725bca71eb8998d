import { lower } from '../../../core/domain/interpret-executions.js';
import { venueOf } from '../../../core/gateway.js';
import { readAccount } from '../../../facade/info/account-state.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { newTrader } from '../../harness/traders/chain-trader.js';
import { eventually } from '../../harness/time/eventually.js';
import { hlInfo, type HlInfo } from '../../harness/hyperliquid/info.js';
import { startOwnVenue, type TestVenue } from '../../harness/venue/own-venue.js';

/** A price that is older than this counts no more. */
const PRICES_LAST_MS = 10_000;

let sandbox: TestVenue;
let chain: ChainControls;
let info: HlInfo;
beforeAll(async () => {
  sandbox = await startOwnVenue(); // its time is moved
  info = hlInfo(sandbox);
  const [first] = sandbox.controls.chains;
  if (!first) throw new Error('the sandbox has no chain');
  chain = first;
});
afterAll(() => sandbox.stop());

const send = (body: object) => info.send(JSON.stringify(body));

describe('the info handler', () => {
  it('says in a text that the node does not answer, and goes on answering what needs none', async () => {
    const { account } = await newTrader(chain);
    await info.ask('clearinghouseState', { user: account.address });
    chain.setRpcFault({ mode: 'down' });
    try {
      const refused = await eventually(
        () => send({ type: 'clearinghouseState', user: account.address }),
        ({ status }) => status !== 200,
      );
      expect([refused.status, refused.type]).toEqual([502, 'text/plain; charset=utf-8']);
      await info.ask('meta');
      await info.ask('openOrders', { user: account.address });
      await info.ask('userFills', { user: account.address });
    } finally {
      chain.setRpcFault({ mode: 'ok' });
    }
    await eventually(
      () => send({ type: 'clearinghouseState', user: account.address }),
      ({ status }) => status === 200,
    );
  });

  it('refuses the figures of an account whose token cannot be read, rather than show an empty wallet', async () => {
    const { account } = await newTrader(chain);
    const venue = venueOf(sandbox.gateway, chain.definition.slug);
    const wholeAccount: typeof venue.chain.wholeAccount = async (query) => ({ ...(await venue.chain.wholeAccount(query)), tokens: [null] });
    const reading = readAccount(sandbox.gateway, { ...venue, chain: { ...venue.chain, wholeAccount } }, lower(account.address));
    await expect(reading).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', details: { upstream: 'token USDC' } });
  });

  it('offers no mid and no book while the price stream is silent, but every market stays listed', async () => {
    const listed = await info.ask('meta');
    sandbox.controls.prices.pauseFeed(true);
    sandbox.clock.move(PRICES_LAST_MS);
    try {
      await eventually(
        () => info.ask<Record<string, string>>('allMids'),
        (mids) => !('BTC' in mids),
      );
      const book = await send({ type: 'l2Book', coin: 'BTC' });
      expect([book.status, book.type]).toEqual([503, 'text/plain; charset=utf-8']);
      const [, [btc]] = await info.ask<[unknown, { midPx: string | null; markPx: string }[]]>('metaAndAssetCtxs');
      expect(btc?.midPx).toBeNull();
      expect(Number(btc?.markPx)).toBeGreaterThan(0);
      expect(await info.ask('meta')).toEqual(listed);
    } finally {
      sandbox.controls.prices.pauseFeed(false);
    }
    await eventually(
      () => info.ask<Record<string, string>>('allMids'),
      (mids) => 'BTC' in mids,
    );
  });
});
