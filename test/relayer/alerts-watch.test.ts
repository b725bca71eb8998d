import { Wallet } from 'ethers';
import { readConfig } from '../../core/config/config.js';
import type { Gateway } from '../../core/gateway.js';
import { createAlerts } from '../../core/observability/alerts/alerts.js';
import type { AlertKind } from '../../core/ports/stores/alerts.js';
import { watchAlerts } from '../../core/observability/alerts/watch.js';
import type { Address, Cancel } from '../../core/types.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { eventually } from '../harness/time/eventually.js';
import { newFacadeTrader } from '../harness/traders/facade-trader.js';
import { firstChain } from '../harness/venue/first-chain.js';
import { order, orderAction, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { createManualClock, type ManualClock } from '../harness/time/manual-clock.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

const CHAIN = 'arbitrum-sepolia';
/** Later than the running gateway's own watch is in charge; each test comes after the one before. */
let now = 10_000_000_000_000;
let sandbox: TestVenue;
let chain: ChainControls;
let stops: Cancel[] = [];

beforeAll(async () => {
  sandbox = await startOwnVenue({ FACADE_HOLD_MS: '0' });
  chain = firstChain(sandbox);
});
afterEach(async () => {
  for (const stop of stops) stop();
  stops = [];
  chain.setRpcFault({ mode: 'ok' });
  await chain.pauseMining(false);
});
afterAll(() => sandbox.stop());

/** A replica's watch whose time passes when the test says so. */
function watch(clock: ManualClock): Cancel {
  const { gateway, log } = sandbox;
  const own: Gateway = { ...gateway, clock, alerts: createAlerts({ store: gateway.store.alerts, clock, log, isSent: false }) };
  const stop = watchAlerts(own, sandbox.config.operator.alerts);
  stops.push(stop);
  return stop;
}

const newClock = (): ManualClock => createManualClock((now += 1_000_000_000));
const openKinds = async (): Promise<AlertKind[]> => (await sandbox.gateway.store.alerts.open()).map(({ kind }) => kind);

/** Lets checks come due until they have found it, or found it gone. */
async function passUntil(clock: ManualClock, holds: (kinds: readonly AlertKind[]) => boolean): Promise<number> {
  const since = clock.now();
  await eventually(async () => {
    clock.advance(5_000);
    return openKinds();
  }, holds);
  return clock.now() - since;
}

describe('the watch', () => {
  it('raises an alert for a lane that makes no progress for a minute, and ends it when it moves', async () => {
    const bot = await newFacadeTrader(sandbox);
    await chain.pauseMining(true);
    const resting = orderAction(order({ p: '20000', t: { limit: { tif: 'Gtc' } } }));
    await postExchange(sandbox.url, CHAIN, await signL1(new Wallet(bot.agentKey), resting));
    const clock = newClock();
    watch(clock);
    expect(await passUntil(clock, (kinds) => kinds.includes('lane-jammed'))).toBeGreaterThanOrEqual(60_000);
    const [alert] = await sandbox.gateway.store.alerts.open();
    expect(alert).toMatchObject({ chain: CHAIN, subject: sandbox.controls.relayer.toLowerCase(), details: { openJobs: 1 } });
    await chain.pauseMining(false);
    await passUntil(clock, (kinds) => !kinds.includes('lane-jammed'));
  });

  it('raises an alert when no node answers for half a minute, and ends it when one does', async () => {
    const { state } = sandbox.gateway.venues.get(CHAIN) ?? {};
    chain.setRpcFault({ mode: 'down' });
    await eventually(
      () => state?.fault,
      (fault) => fault !== null,
    );
    const clock = newClock();
    watch(clock);
    expect(await passUntil(clock, (kinds) => kinds.includes('rpc-trouble'))).toBeGreaterThanOrEqual(30_000);
    chain.setRpcFault({ mode: 'ok' });
    await passUntil(clock, (kinds) => !kinds.includes('rpc-trouble'));
  });

  it('does not interpret the words of a lane problem', async () => {
    const wallet = sandbox.controls.relayer.toLowerCase() as Address;
    const clock = newClock();
    const { alerts, relay } = sandbox.gateway.store;
    const since = Date.now() - 60_000;
    watch(clock);
    // The check that reports the second reason is another than the one that reported the first, so that one has ended.
    for (const reason of ['its node says that its key is wrong', 'its node wants another key'])
      await eventually(
        async () => {
          await relay.storeLaneProblem(CHAIN, wallet, { cause: 'node', reason, since });
          clock.advance(5_000);
          return alerts.open();
        },
        (open) => open.some(({ kind, details }) => kind === 'lane-jammed' && details['reason'] === reason),
      );
    expect(await openKinds()).toEqual(['lane-jammed']);
    await relay.storeLaneProblem(CHAIN, wallet, null);
    await passUntil(clock, (kinds) => kinds.length === 0);
  });

  it('ends the alerts of a wallet that was taken out of the settings, and of no other', async () => {
    const { alerts } = sandbox.gateway.store;
    const clock = newClock();
    const gone = { chain: CHAIN, subject: `0x${'ab'.repeat(20)}`, message: 'It is empty.', details: {}, expiresAt: null };
    for (const kind of ['low-balance', 'key-trouble', 'quota-reached'] as const)
      await alerts.raise({ ...gone, kind }, { at: clock.now(), isSent: false, repeatMs: null });
    watch(clock);
    await passUntil(clock, (kinds) => !kinds.includes('low-balance') && !kinds.includes('key-trouble'));
    expect(await openKinds()).toEqual(['quota-reached']);
    await alerts.recover({ ...gone, kind: 'quota-reached' }, { at: clock.now(), isSent: false, message: '' });
  });

  it('is kept by one replica, and by another when that one is gone', async () => {
    const { alerts } = sandbox.gateway.store;
    const at = (now += 1_000_000_000);
    const leads = async (holder: string, from: number): Promise<boolean> => (await alerts.lead(holder, from, from + 20_000)) !== null;
    expect(await leads('first', at)).toBe(true);
    expect(await leads('second', at + 10_000)).toBe(false);
    expect(await leads('first', at + 10_000)).toBe(true);
    expect(await leads('second', at + 30_000)).toBe(true);
    expect(await leads('first', at + 30_001)).toBe(false);
  });
});

describe('the settings of the operator', () => {
  const BASE = { DATABASE_URL: 'postgres://localhost/x', RPC_URL_ARBITRUM: 'http://127.0.0.1:1' };
  const problemsOf = (settings: Record<string, string>): string => {
    try {
      readConfig({ ...BASE, ...settings }, () => 'short');
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };

  it('are refused with every fault at once, and never with their values', () => {
    const said = problemsOf({
      OPERATOR_TOKEN_FILE: '/secret',
      ALERT_WEBHOOK_URL: 'http://127.0.0.1/hook',
      RPC_URL_BASE: 'nonsense',
    });
    expect(said).toContain('OPERATOR_TOKEN_FILE must be at least 16');
    expect(said).toContain('ALERT_WEBHOOK_URL and ALERT_WEBHOOK_SECRET');
    expect(said).toContain('RPC_URL_BASE');
    expect(problemsOf({ OPERATOR_TOKEN: 'too-short' })).toContain('OPERATOR_TOKEN must be at least 16');
    expect(said + problemsOf({ OPERATOR_TOKEN: 'too-short' })).not.toMatch(/too-short|127\.0\.0\.1/);
    const inUrl = problemsOf({ ALERT_WEBHOOK_URL: 'https://me:hidden@host/hook', ALERT_WEBHOOK_SECRET: 'x'.repeat(16) });
    expect(inUrl).toContain('ALERT_WEBHOOK_URL must hold no user info');
    expect(inUrl).not.toContain('hidden');
    for (const low of ['much', '0.1,0.2', 'mars=1', '1=2=3', ''])
      expect([low, problemsOf({ ALERT_LOW_BALANCE: low }).includes('ALERT_LOW_BALANCE')]).toEqual([low, low !== '']);
  });

  it('give a chain a threshold of its own where coins are worth less', () => {
    const { lowBalance } = readConfig({ ...BASE, ALERT_LOW_BALANCE: '0.02, polygon=5' }).operator.alerts;
    expect(lowBalance).toEqual({ usual: 2n * 10n ** 16n, own: new Map([['polygon', 5n * 10n ** 18n]]) });
  });
});
