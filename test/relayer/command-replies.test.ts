import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runCommand } from '../../relayer/command.js';
import { createManualClock } from '../harness/time/manual-clock.js';

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly asked: readonly string[];
}

/** Runs a command against a gateway that gives these replies in turn. A sleep moves the clock. */
async function runAgainst(replies: readonly object[], words: readonly string[]): Promise<Ran> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method ?? ''} ${request.url ?? ''}`);
    request.resume().on('end', () => response.end(JSON.stringify(replies[asked.length - 1] ?? replies.at(-1))));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const clock = createManualClock();
  let out = '';
  try {
    const { port } = server.address() as AddressInfo;
    const code = await runCommand(words, {
      environment: { GATEWAY_URL: `http://127.0.0.1:${port}`, OPERATOR_TOKEN: 'secret' },
      readText: () => '',
      clock: { ...clock, sleep: (ms) => Promise.resolve(clock.advance(ms)) },
      write: (text) => void (out += text),
      complain: (text) => void (out += text),
    });
    return { code, out, asked };
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

describe('drain', () => {
  const holding = (queued: number, sent: number) => ({
    chains: [{ chain: 'base', wallets: [{ wallet: '0x01', mode: 'draining', reason: null, isRetiring: false, queued, sent, traders: 1 }] }],
  });

  it('says once what is under way, and ends when nothing is', async () => {
    const { code, out, asked } = await runAgainst([holding(1, 1), holding(1, 1), holding(0, 1), holding(0, 0)], ['drain']);
    expect([code, asked]).toEqual([0, ['POST /relayer/switches', ...Array<string>(3).fill('GET /relayer/switches')]]);
    expect(out.match(/\d under way …/g)).toEqual(['2 under way …', '1 under way …']);
    expect(out).toContain('Empty: nothing is under way.');
  });

  it.each([
    ['0', 1],
    ['1', 3],
  ])('that waits %s s looks %i times, and fails if something is under way', async (wait, looks) => {
    const { code, out, asked } = await runAgainst([holding(2, 0)], ['drain', '--wait', wait]);
    expect([code, asked.length]).toEqual([3, looks]);
    expect(out).toContain('Not empty yet: 2 under way.');
  });
});

describe('drill', () => {
  it('fails if the lane does not heal, and says how long it had', async () => {
    const reply = { chain: 'base', wallet: '0x01', gap: 7, isHealed: false, healedMs: null, limitMs: 60_000 };
    const { code, out } = await runAgainst([reply], ['drill', 'nonce-gap']);
    expect([code, out]).toEqual([3, 'base 0x01: nonce 7 was left out.\nNot healed within 60 s: look at status.\n']);
  });
});

describe('rotate', () => {
  const page = (changes: object) => ({
    ...{ chain: 'base', wallet: '0x01', isRetiring: true, successors: ['0x02'], traders: 3, openJobs: 0 },
    ...{ isDone: true, unknown: 0, next: null, waiting: [] },
    ...changes,
  });
  const first = { trader: '0xa1', delegationTx: null };
  const second = { trader: '0xb1', delegationTx: null };

  it('reads all pages, says how far it is, and lists the traders that have to delegate', async () => {
    const pages = [page({ next: '0xaf', waiting: [first], isDone: false }), page({ waiting: [second], isDone: false })];
    const { code, out, asked } = await runAgainst(pages, ['rotate', '--wallet', '0x01']);
    expect([code, asked]).toEqual([0, ['POST /relayer/rotation', 'GET /relayer/rotation?wallet=0x01&after=0xaf']]);
    expect(out).toMatch(/^1 still delegated to it, up to 0xaf …\n/);
    expect(out).toMatch(/0xa1[^]*0xb1[^]*These traders send the transaction above/);
  });

  it.each<[string, object, boolean]>([
    ['no trader depends on it', {}, true],
    ['a trader of an earlier page does', { waiting: [first] }, false],
    ['a trader of an earlier page could not be asked for', { unknown: 1 }, false],
  ])('is done or not if %s', async (_what, firstPage, isDone) => {
    const { out } = await runAgainst([page({ next: '0xaf', ...firstPage }), page({})], ['rotate', '--wallet', '0x01', '--json']);
    expect(JSON.parse(out)).toMatchObject({ isDone });
  });

  it('with --undo shows that the wallet stays', async () => {
    const { code, out } = await runAgainst([page({ isRetiring: false, next: '0xaf' })], ['rotate', '--wallet', '0x01', '--undo']);
    expect([code, out]).toEqual([0, 'base: 0x01 stays, and takes new traders again.\n']);
  });
});
