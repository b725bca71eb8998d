import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { alice, bob, call, cleanUp, EMITTER, later, recordingLog, send, startNode, temporaryFolder, topic } from './fixture.js';

afterEach(cleanUp);

const journalOf = (folder: string): string => join(folder, 'journal.jsonl');

/** A life with everything a journal can hold. */
async function liveThrough(dataDir: string) {
  const node = await startNode({ dataDir });
  await node.admin('hardhat_setCode', [EMITTER.address, EMITTER.code]);
  await node.mine(300);
  await send(node.url, { nonce: 0, to: EMITTER.address, data: topic(1) });
  await send(node.url, { nonce: 0, value: 7n }, bob);
  await node.mine(2);
  await node.setBaseFee(0.5);
  await node.warp(100);
  await node.mine(3);
  await send(node.url, { nonce: 1, to: EMITTER.address, data: topic(2) });
  await node.mine(1);
  await node.admin('hardhat_setBalance', [bob.address, '0xde0b6b3a7640000']);
  await node.mine(1);
  await node.reorg({ depth: 4 });
  await node.mine(2);
  await node.reorg({ depth: 1, drop: true });
  await node.mine(2);
  return node;
}

let kept: Promise<string> | undefined;
/** The journal of such a life, which is lived once. */
const wholeJournal = (): Promise<string> =>
  (kept ??= (async () => {
    const dataDir = temporaryFolder();
    await (await liveThrough(dataDir)).close();
    return readFileSync(journalOf(dataDir), 'utf8');
  })());

/** `npm run test:slow` tears it at every byte and kills it three times. */
const isSlow = process.env['SLOW_TESTS'] === '1';
const KILLS = isSlow ? 3 : 1;
const cuts = (from: number, to: number): number[] =>
  isSlow ? Array.from({ length: to - from + 1 }, (_, at) => from + at) : [from, from + 1, Math.floor((from + to) / 2), to - 1, to];

describe('a chain with a folder', () => {
  it('comes back with the same head, state, time and depth of reorg', async () => {
    const dataDir = temporaryFolder();
    const before = await liveThrough(dataDir);
    const head = await before.head();
    const logs = await before.request('eth_getLogs', [{ fromBlock: '0x0' }]);
    await before.close();
    const progress: number[] = [];
    const after = await startNode({ dataDir, onProgress: (made) => progress.push(made) });
    expect(await after.head()).toEqual(head);
    expect(after.restored).toEqual({ blocks: Number(head.number), warpedSeconds: 100, discarded: null });
    expect(await after.request('eth_getLogs', [{ fromBlock: '0x0' }])).toEqual(logs);
    expect(await after.request('eth_getBalance', [bob.address, 'latest'])).toBe('0xde0b6b3a7640000');
    expect(progress.at(-1)).toBe(Number(head.number));
    expect((await after.mine(1)).timestamp).toBeGreaterThanOrEqual(head.timestamp);
    expect((await after.reorg({ depth: 64 })).removed).toHaveLength(64);
  });

  it('comes back also when a block had failed at first and was made without the transactions it could not hold', async () => {
    const dataDir = temporaryFolder();
    const node = await startNode({ dataDir });
    for (const nonce of [0, 1]) await send(node.url, { nonce, value: 4n * 10n ** 20n });
    await send(node.url, { nonce: 0 }, bob);
    await node.admin('hardhat_setBalance', [alice.address, '0x1b1ae4d6e2ef500000']);
    const { hash } = await node.mine(3);
    await node.close();
    const again = await startNode({ dataDir });
    expect([(await again.head()).hash, again.restored.discarded]).toEqual([hash, null]);
  });

  it('comes back again and again, each time with what was added', async () => {
    const dataDir = temporaryFolder();
    for (let nonce = 0; nonce < 3; nonce += 1) {
      const node = await startNode({ dataDir });
      expect((await node.head()).number).toBe(BigInt(nonce * 21));
      await send(node.url, { nonce });
      await node.mine(21);
      await node.close();
    }
  });

  it('writes a run of empty blocks in little more than a byte each', async () => {
    const dataDir = temporaryFolder();
    const node = await startNode({ dataDir });
    await node.mine(5000);
    expect(readFileSync(journalOf(dataDir)).length).toBeLessThan(8000);
  });

  it('survives a journal torn anywhere in its last record', async () => {
    const dataDir = temporaryFolder();
    const node = await startNode({ dataDir });
    await node.mine(5);
    await send(node.url, { nonce: 0, value: 3n });
    const before = await node.head();
    const whole = readFileSync(journalOf(dataDir)).length;
    const { hash } = await node.mine(1);
    await node.close();
    const bytes = readFileSync(journalOf(dataDir));
    for (const length of cuts(whole, bytes.length)) {
      const folder = temporaryFolder();
      writeFileSync(journalOf(folder), bytes.subarray(0, length));
      const again = await startNode({ dataDir: folder });
      expect([length, (await again.head()).hash]).toEqual([length, length === bytes.length ? hash : before.hash]);
      expect((await again.mine(1)).number).toBe(length === bytes.length ? 7n : 6n);
      await again.close();
    }
  });

  it('that does not come out the same says so, starts afresh and keeps the old journal', async () => {
    const dataDir = temporaryFolder();
    const text = await wholeJournal();
    writeFileSync(journalOf(dataDir), text.replace('"method":"hardhat_setBalance"', '"method":"hardhat_setNonce"'));
    const { log, entries } = recordingLog();
    const node = await startNode({ dataDir, log });
    expect((await node.head()).number).toBe(0n);
    expect(node.restored.discarded?.reason).toMatch(/comes out as|refused|nonce/i);
    expect(entries).toMatchObject([{ level: 'warn', event: 'chain.journal.unusable' }]);
    expect(readFileSync(node.restored.discarded?.movedTo ?? '', 'utf8')).toContain('hardhat_setNonce');
    await node.mine(2);
    await node.close();
    expect((await (await startNode({ dataDir })).head()).number).toBe(2n);
  });

  it.each([
    ['a line in the middle is broken', (text: string) => text.replace('{"kind":"block"', '{"kind":"blo')],
    ['it is of another version', (text: string) => text.replace('"version":1', '"version":9')],
    ['it is of another chain', (text: string) => text.replace('"chainId":421614', '"chainId":1')],
    ['it has another genesis', (text: string) => text.replace(/"genesisTime":\d/, '"genesisTime":2')],
  ])('starts afresh when %s', async (_, spoil) => {
    const dataDir = temporaryFolder();
    writeFileSync(journalOf(dataDir), spoil(await wholeJournal()));
    const node = await startNode({ dataDir });
    expect([(await node.head()).number, node.restored.discarded === null]).toEqual([0n, false]);
    expect(readdirSync(dataDir).filter((name) => name.endsWith('.unusable.jsonl'))).toHaveLength(1);
  });

  it('is refused to a second node, and free once the first has closed', async () => {
    const dataDir = temporaryFolder();
    const node = await startNode({ dataDir });
    await expect(startNode({ dataDir })).rejects.toThrow(/is in use by another sandbox/);
    await node.close();
    expect(existsSync(join(dataDir, 'lock'))).toBe(false);
    await startNode({ dataDir });
  });

  it.each([
    ['of a process that is gone', JSON.stringify({ pid: 4_000_000, started: '1' })],
    ['of an earlier process with an id that lives again', JSON.stringify({ pid: process.ppid, started: '1' })],
    ['of an earlier process with our own id', JSON.stringify({ pid: process.pid, started: '1' })],
    ['written half', '{"pi'],
  ])('takes over a lock %s', async (_, text) => {
    const dataDir = join(temporaryFolder(), 'chain');
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'lock'), text);
    expect((await (await startNode({ dataDir })).head()).number).toBe(0n);
  });
});

describe('kill -9', () => {
  it('loses no block and no receipt that was announced, and leaves the folder usable', async () => {
    const dataDir = temporaryFolder();
    for (let round = 1; round <= KILLS; round += 1) {
      const announced = await runAndKill(dataDir, 40);
      const node = await startNode({ dataDir });
      expect(node.restored.discarded).toBeNull();
      for (const [kind, what, hash] of announced.map((line) => line.split(' '))) {
        const answer = await (kind === 'block'
          ? call(node.url, 'eth_getBlockByNumber', [`0x${Number(what).toString(16)}`, false])
          : call(node.url, 'eth_getTransactionReceipt', [what]));
        expect(answer.result).toMatchObject(kind === 'block' ? { hash } : { blockHash: hash });
      }
      expect(Number(await node.request('eth_getTransactionCount', [alice.address, 'latest']))).toBeGreaterThan(round);
      await node.close();
    }
  });
});

async function runAndKill(dataDir: string, lines: number): Promise<string[]> {
  const child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'killed-node.ts'), dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  later(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const said: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    said.push(line);
    if (said.length === lines) child.kill('SIGKILL');
  }
  await exited;
  return said;
}
