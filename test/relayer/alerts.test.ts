import { systemClock, systemRandom } from '../../core/adapters/system/clock.js';
import { startGateway } from '../../app/compose/gateway.js';
import { createAlertWebhook } from '../../core/adapters/telemetry/alert-webhook.js';
import type { AlertFacts, AlertStore } from '../../core/ports/stores/alerts.js';
import { deliverDue, MOST_ATTEMPTS, waitAfter } from '../../core/observability/alerts/alerts.js';
import { createLifecycle } from '../../app/lifecycle.js';
import { listen } from '../../http/listen.js';
import { startAlertReceiver, type AlertReceiver } from '../harness/servers/alert-receiver.js';
import { eventually, until } from '../harness/time/eventually.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';
import { createManualClock } from '../harness/time/manual-clock.js';
import { startOwnVenue, type Reply, type TestVenue } from '../harness/venue/own-venue.js';

const TOKEN = 'a-token-of-sixteen-or-more';
const HOUR_MS = 3_600_000;
/** How often wallets are looked at, how long the receiver may take, after what time a second try is made, and how often what is due is posted. */
const [CHECK_MS, PATIENCE_MS, RETRY_MS, PACE_MS] = [5_000, 5_000, 2_000, 1_000];
let sandbox: TestVenue;
let receiver: AlertReceiver;
let store: AlertStore;

beforeAll(async () => {
  receiver = await startAlertReceiver();
  receiver.set('fail');
  sandbox = await startOwnVenue({
    OPERATOR_TOKEN: TOKEN,
    ALERT_WEBHOOK_URL: receiver.url,
    ALERT_WEBHOOK_SECRET: receiver.secret,
    // More than the relayer of the sandbox begins with.
    ALERT_LOW_BALANCE: '500000',
    ALERT_LOW_RUNWAY_DAYS: '0',
  });
  store = sandbox.gateway.store.alerts;
});
afterAll(async () => {
  await sandbox.stop();
  await receiver.close();
});

const ask = (path: string, method = 'GET'): Promise<Reply> => sandbox.call(path, { method, headers: { Authorization: `Bearer ${TOKEN}` } });
const posted = (event: string, kind: string) => receiver.received.filter(({ json }) => json.event === event && json.alert.kind === kind);

let subjects = 0;
const facts = (changes: Partial<AlertFacts> = {}): AlertFacts => ({
  kind: 'quota-reached',
  chain: 'nowhere',
  subject: `0x${(subjects += 1)}`,
  message: 'A trader has used up its day.',
  details: { used: 10 },
  expiresAt: null,
  ...changes,
});

describe('a wallet that runs low', () => {
  it('is posted until the receiver takes it, is shown while it lasts, and posted once when it has recovered', async () => {
    sandbox.clock.pass(CHECK_MS);
    await until(() => posted('opened', 'low-balance').length > 0);
    sandbox.clock.pass(RETRY_MS);
    const [first] = await eventually(
      () => posted('opened', 'low-balance'),
      ({ length }) => length >= 2,
    );
    receiver.set('take');
    sandbox.clock.pass(2 * RETRY_MS);
    await eventually(
      () => receiver.taken,
      (taken) => taken.includes(first?.json.id ?? ''),
    );
    const tries = posted('opened', 'low-balance');
    expect(new Set(tries.map(({ json }) => json.id)).size).toBe(1);
    expect(new Set(tries.map(({ body }) => body)).size).toBe(1);
    expect(tries.every(({ isSigned, headers, json }) => isSigned && headers['x-gateway-event'] === json.id)).toBe(true);
    expect(first?.json.alert).toMatchObject({ chain: 'arbitrum-sepolia', subject: sandbox.controls.relayer.toLowerCase() });
    const { body } = await ask('/relayer/alerts');
    expect(body).toMatchObject({ open: expect.arrayContaining([expect.objectContaining({ kind: 'low-balance' })]) as unknown });
    const shown = JSON.stringify([body, receiver.received]);
    for (const secret of [receiver.secret, TOKEN, 'with-a-secret-path', sandbox.controls.accounts.relayer.privateKey.slice(2)])
      expect(shown).not.toContain(secret);
    await sandbox.controls.chains[0]?.faucet.fund(sandbox.controls.relayer, { eth: '600000' });
    sandbox.clock.pass(CHECK_MS);
    await eventually(
      () => posted('recovered', 'low-balance'),
      ({ length }) => length === 1,
    );
    const { body: after } = await ask('/relayer/alerts');
    expect((after as { open: { kind: string }[] }).open.filter(({ kind }) => kind === 'low-balance')).toEqual([]);
  });
});

describe('an alert', () => {
  beforeEach(() => receiver.set('take'));

  it('is opened once, however many replicas see it, and posted again only when it is due', async () => {
    const alert = facts();
    const sending = { at: 1_000, isSent: true, repeatMs: HOUR_MS };
    await Promise.all(Array.from({ length: 5 }, () => store.raise(alert, sending)));
    await store.raise(alert, { ...sending, at: 1_000 + HOUR_MS - 1 });
    await Promise.all(Array.from({ length: 3 }, () => store.raise(alert, { ...sending, at: 1_000 + HOUR_MS })));
    expect(await Promise.all([1, 2, 3].map(() => store.recover(alert, { at: 9_000_000, isSent: true, message: 'over' })))).toEqual(
      expect.arrayContaining([true, false, false]),
    );
    const received = () => receiver.received.filter(({ json }) => json.alert.subject === alert.subject);
    for (const count of [1, 2, 3]) {
      sandbox.clock.pass(PACE_MS);
      await until(() => received().length >= count);
    }
    const events = await eventually(received, (all) => all.some(({ json }) => json.event === 'recovered'));
    expect(events.map(({ json }) => json.event)).toEqual(['opened', 'repeated', 'recovered']);
    expect(new Set(events.map(({ json }) => json.id)).size).toBe(events.length);
  });

  it('ends by itself when its time is over', async () => {
    const alert = facts();
    await sandbox.gateway.alerts.raiseAlert({ ...alert, expiresAt: sandbox.gateway.clock.now() + 100 });
    sandbox.clock.pass(CHECK_MS);
    await eventually(
      () => receiver.received.filter(({ json }) => json.alert.subject === alert.subject).map(({ json }) => json.event),
      (events) => events.includes('recovered'),
    );
  });

  it('survives a receiver that hangs', async () => {
    receiver.set('hang');
    const failures = (): number => sandbox.log.entries.filter(({ event }) => event === 'alerts.not-delivered').length;
    const failedBefore = failures();
    const alert = facts();
    await sandbox.gateway.alerts.raiseAlert(alert);
    const mine = () => receiver.received.filter(({ json }) => json.alert.subject === alert.subject);
    sandbox.clock.pass(PACE_MS);
    await eventually(mine, ({ length }) => length === 1);
    receiver.set('take');
    sandbox.clock.pass(PATIENCE_MS);
    await until(() => failures() > failedBefore);
    sandbox.clock.pass(RETRY_MS);
    const tries = await eventually(mine, ({ length }) => length === 2);
    expect(tries[1]?.body).toBe(tries[0]?.body);
    expect(receiver.taken).toContain(tries[0]?.json.id);
  });

  it('that a dead process was sending is sent by another, as the same event', async () => {
    const far = 10_000_000_000_000;
    const alert = facts();
    // Due in a future that the running gateway does not reach: this test alone delivers it.
    await store.raise(alert, { at: far, isSent: true, repeatMs: null });
    // The running gateway may have other alerts to post meanwhile.
    const mine = async (at: number, until: number) => (await store.claim(at, until, 50)).filter(({ body }) => body.includes(alert.subject));
    const [claimed] = await mine(far, far + 30_000);
    expect(claimed).toBeDefined();
    expect(await mine(far + 1, far + 30_000)).toEqual([]);
    const [again] = await mine(far + 30_000, far + 60_000);
    expect([again?.eventId, again?.body, again?.attempts]).toEqual([claimed?.eventId, claimed?.body, 2]);
    await store.delivered(again?.id ?? 0n, far);
  });

  it('that the receiver never takes is given up after an hour, shown, and sent when the operator asks', async () => {
    receiver.set('fail');
    const clock = createManualClock(20_000_000_000_000);
    const alert = facts();
    await store.raise(alert, { at: clock.now(), isSent: true, repeatMs: null });
    const options = {
      store,
      clock,
      log: createRecordedLog(),
      post: createAlertWebhook({ url: () => receiver.url, secret: () => receiver.secret, clock: systemClock }),
    };
    for (let attempts = 1; attempts <= MOST_ATTEMPTS; attempts += 1) {
      await deliverDue(options);
      clock.advance(waitAfter(attempts));
    }
    const mine = () => receiver.received.filter(({ json }) => json.alert.subject === alert.subject);
    expect(mine()).toHaveLength(MOST_ATTEMPTS);
    await deliverDue(options);
    expect(mine()).toHaveLength(MOST_ATTEMPTS);
    const { body } = await ask('/relayer/alerts');
    const [dead] = (body as { dead: { id: string; lastError: string; attempts: number }[] }).dead;
    expect(dead).toMatchObject({ lastError: 'HTTP 500', attempts: MOST_ATTEMPTS });
    receiver.set('take');
    expect((await ask(`/relayer/alerts/${dead?.id}/retry`, 'POST')).status).toBe(200);
    sandbox.clock.pass(PACE_MS);
    await eventually(
      () => receiver.taken,
      (taken) => taken.includes(mine()[0]?.json.id ?? ''),
    );
    expect((await ask(`/relayer/alerts/${dead?.id}/retry`, 'POST')).status).toBe(422);
    expect((await ask('/relayer/alerts/first/retry', 'POST')).status).toBe(400);
  });
});

describe('a rejection that nothing handled', () => {
  it('is counted each time, and opens one alert that ends by itself', async () => {
    const log = createRecordedLog();
    const lifecycle = createLifecycle(log);
    const { config, gateway: beside } = sandbox;
    const http = await listen('127.0.0.1', 0, { randomBytes: systemRandom });
    const silent = { ...config, chains: config.chains.map((chain) => ({ ...chain, relayer: null })) };
    const gateway = await startGateway({ config: silent, store: beside.store, lifecycle, clock: beside.clock, log, http });
    const open = async () => (await store.open()).filter(({ kind }) => kind === 'unhandled-rejection');
    const before = beside.clock.now();
    lifecycle.rejected(new RangeError(`a secret ${TOKEN}`));
    const after = beside.clock.now();
    lifecycle.rejected('no error at all');
    const [alert, ...others] = await eventually(open, ({ length }) => length > 0);
    expect(others).toEqual([]);
    expect(alert).toMatchObject({ chain: 'all', subject: 'process', details: { name: 'RangeError' } });
    expect(JSON.stringify(alert, (_key, value: unknown) => (typeof value === 'bigint' ? '' : value))).not.toContain(TOKEN);
    expect(alert?.expiresAt).toBeGreaterThanOrEqual(before + HOUR_MS);
    expect(alert?.expiresAt).toBeLessThanOrEqual(after + HOUR_MS);
    const counted = gateway.metrics.families().find(({ name }) => name === 'gateway_unhandled_rejections_total');
    expect(counted?.values).toEqual([{ value: 2, labels: {} }]);
    expect(log.entries.filter(({ event }) => event === 'process.unhandled-rejection')).toHaveLength(2);
    await lifecycle.end();
  });
});
