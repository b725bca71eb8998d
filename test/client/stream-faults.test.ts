import { agentFromKey, type Signer } from '../../client/src/agent.js';
import { createClient } from '../../client/src/create-client.js';
import type { Stream } from '../../client/src/stream.js';
import { replaceGlobal } from '../harness/process/replace-global.js';
import { until } from '../harness/time/eventually.js';

const key = agentFromKey(`0x${'11'.repeat(32)}`);

interface Said {
  readonly op: string;
  readonly channel?: string;
  readonly after?: number;
}
type Script = (say: (message: object) => void, said: Said, connection: number) => void;

/** A socket of a gateway that follows a script. */
function scripted(script: Script) {
  const said: Said[] = [];
  let connections = 0;
  class Scripted extends EventTarget {
    readonly number = (connections += 1);
    isOpen = true;

    constructor() {
      super();
      setImmediate(() => this.say({ op: 'hello' }));
    }
    say(message: object): void {
      if (this.isOpen) this.dispatchEvent(Object.assign(new Event('message'), { data: JSON.stringify(message) }));
    }
    send(text: string): void {
      const message = JSON.parse(text) as Said;
      if (message.op === 'ping') return void setImmediate(() => this.say({ op: 'pong' }));
      said.push(message);
      setImmediate(() => script((answer) => this.say(answer), message, this.number));
    }
    close(): void {
      if (!this.isOpen) return;
      this.isOpen = false;
      this.dispatchEvent(new Event('close'));
    }
  }
  return { Scripted, said, connections: () => connections };
}

/** The client waits two seconds before it goes on after a fault: here no wait is longer than this. */
const LONGEST_MS = 10;
let restoreTimers: () => void;
beforeAll(() => {
  const { setTimeout: wait } = globalThis;
  restoreTimers = replaceGlobal('setTimeout', (task: () => void, ms = 0) => wait(task, Math.min(ms, LONGEST_MS)));
});
afterAll(() => restoreTimers());

const open: Stream[] = [];
afterEach(() => open.splice(0).forEach((stream) => stream.close()));

/** A stream with a subscription to orders. */
function follow(
  script: Script,
  { signer = key, handle = () => undefined }: { signer?: Signer; handle?: (cursor: number) => unknown } = {},
) {
  const { Scripted, said, connections } = scripted(script);
  const client = createClient({
    url: 'http://gateway.test',
    chain: 'arbitrum-sepolia',
    agent: signer,
    serviceName: 'test',
    WebSocket: Scripted,
  });
  const [seen, errors]: [number[], unknown[]] = [[], []];
  const stream = client.stream({ onError: (error) => errors.push(error) });
  open.push(stream);
  stream.subscribe({ channel: 'orders' }, ({ cursor }) => {
    seen.push(cursor);
    return handle(cursor);
  });
  const subscribed = () => said.filter(({ op }) => op === 'subscribe').map(({ after }) => after ?? null);
  return { stream, seen, errors, connections, subscribed };
}

const AUTHENTICATED = { op: 'authenticated', trader: '0x', via: 'agent' };
const SNAPSHOT = { channel: 'orders', snapshot: true, seq: 1, cursor: 1, data: [] };
const event = (cursor: number, seq: number) => ({ channel: 'orders', snapshot: false, seq, cursor, data: { id: String(cursor) } });
const refusal = (code: string, about: object = {}) => ({ op: 'error', code, message: 'not now', ...about });

describe('a stream goes on', () => {
  it('behind its cursor after the gateway has ended the channel', async () => {
    const followed = follow((say, { op, after }) => {
      if (op === 'auth') say(AUTHENTICATED);
      if (op !== 'subscribe') return;
      if (after !== undefined) return say(event(2, 1));
      say(SNAPSHOT);
      say(refusal('INTERNAL', { channel: 'orders' }));
      say({ op: 'unsubscribed', channel: 'orders' });
    });
    await until(() => followed.seen.length === 2);
    expect(followed.seen).toEqual([1, 2]);
    expect(followed.subscribed()).toEqual([null, 1]);
    expect(followed.errors).toMatchObject([{ code: 'INTERNAL' }]);
  });

  it('after a login that could not be signed', async () => {
    let tries = 0;
    const signTypedData: Signer['signTypedData'] = (data) => {
      tries += 1;
      return tries === 1 ? Promise.reject(new Error('the key service is busy')) : key.signTypedData(data);
    };
    const followed = follow(
      (say, { op }) => {
        if (op === 'auth') say(AUTHENTICATED);
        if (op === 'subscribe') say(SNAPSHOT);
      },
      { signer: { ...key, signTypedData } },
    );
    await until(() => followed.seen.length === 1);
    expect(followed.errors).toMatchObject([{ message: 'the key service is busy' }]);
  });

  it('after a login that the gateway was not ready for', async () => {
    const followed = follow((say, { op }, connection) => {
      if (op === 'auth') say(connection === 1 ? refusal('NOT_READY') : AUTHENTICATED);
      if (op === 'subscribe') say(SNAPSHOT);
    });
    await until(() => followed.seen.length === 1);
    expect(followed.errors).toMatchObject([{ code: 'NOT_READY' }]);
  });
});

it('a subscription that is refused for good is asked for once', async () => {
  const followed = follow((say, { op, channel }) => {
    if (op === 'auth') say(AUTHENTICATED);
    if (op !== 'subscribe') return;
    say(channel === 'orders' ? refusal('VALIDATION_ERROR', { channel }) : { channel, snapshot: true, seq: 1, data: [] });
  });
  await until(() => followed.errors.length > 0);
  let isAnswered = false;
  followed.stream.subscribe({ channel: 'prices' }, () => (isAnswered = true));
  await until(() => isAnswered);
  expect(followed.subscribed()).toEqual([null, null]);
  expect(followed.errors).toMatchObject([{ code: 'VALIDATION_ERROR' }]);
});

describe('a message whose handler fails', () => {
  const script: Script = (say, { op, after }) => {
    if (op === 'auth') say(AUTHENTICATED);
    if (op !== 'subscribe') return;
    if (after === undefined) say(SNAPSHOT);
    const first = after ?? 1;
    [2, 3].filter((cursor) => cursor > first).forEach((cursor, at) => say(event(cursor, at + (after === undefined ? 2 : 1))));
  };

  it.each<readonly [string, () => unknown]>([
    [
      'by throwing',
      () => {
        throw new Error('the disk is full');
      },
    ],
    ['by rejecting', () => Promise.reject(new Error('the disk is full'))],
  ])('%s comes again before the next one, and the cursor stays behind it', async (_how, fails) => {
    let isFull = true;
    const reached: unknown[] = [];
    const followed = follow(script, {
      handle(cursor) {
        reached.push(followed.stream.cursors().orders);
        if (cursor !== 2 || !isFull) return;
        isFull = false;
        return fails();
      },
    });
    await until(() => followed.stream.cursors().orders === 3);
    expect(followed.seen).toEqual([1, 2, 2, 3]);
    expect(reached).toEqual([undefined, 1, 1, 2]);
    expect(followed.errors).toMatchObject([{ message: 'the disk is full' }]);
  });

  it('is not passed by the ones behind it while it is at work', async () => {
    let finish = (): void => undefined;
    const followed = follow(script, { handle: (cursor) => (cursor === 2 ? new Promise<void>((done) => (finish = done)) : undefined) });
    await until(() => followed.seen.length === 2);
    expect(followed.stream.cursors()).toEqual({ orders: 1 });
    finish();
    await until(() => followed.stream.cursors().orders === 3);
    expect(followed.seen).toEqual([1, 2, 3]);
  });
});
