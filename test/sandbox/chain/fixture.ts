import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { privateKeyToAccount } from 'viem/accounts';
import { systemClock } from '../../../core/adapters/system/clock.js';
import type { Logger } from '../../../core/ports/log.js';
import type { Hex } from '../../../core/types.js';
import { createChainNode, type RunningChainNode } from '../../../sandbox/chain/node.js';
import type { ChainNodeOptions } from '../../../sandbox/chain/chain-node.js';

export const CHAIN_ID = 421614;
export const alice = privateKeyToAccount(`0x${'a1'.repeat(32)}`);
export const bob = privateKeyToAccount(`0x${'b0'.repeat(32)}`);

/** Emits one log whose only topic is the first word of the call. */
export const EMITTER = { address: '0x00000000000000000000000000000000000e0001', code: '0x60003560006000a100' } as const;
/** Reverts with the very bytes it was called with. */
export const REVERTER = { address: '0x00000000000000000000000000000000000e0002', code: '0x366000600037366000fd' } as const;

/** `failWith(bytes)` reverts with the first 36 of those bytes: an error of one word. */
export const FAILER = { address: '0x00000000000000000000000000000000000e0004', code: '0x6024604460003760246000fd' } as const;

export const topic = (value: number): Hex => `0x${value.toString(16).padStart(64, '0')}`;

export interface RecordedLog {
  log: Logger;
  entries: { level: string; event: string; fields: unknown }[];
}

export function recordingLog(): RecordedLog {
  const entries: RecordedLog['entries'] = [];
  const at = (level: string) => (event: string, fields?: unknown) => void entries.push({ level, event, fields });
  const log: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log };
  return { log, entries };
}

const cleanups: (() => unknown)[] = [];

/** To be called in afterEach: newest first, so that a node is closed before its folder goes. */
export async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}

export const later = (cleanup: () => unknown): void => void cleanups.push(cleanup);

export async function startNode(options: Partial<ChainNodeOptions> = {}): Promise<RunningChainNode> {
  const balances = new Map<Hex, bigint>([
    [alice.address, 10n ** 21n],
    [bob.address, 10n ** 21n],
  ]);
  const node = await createChainNode({
    chainId: CHAIN_ID,
    balances,
    clock: systemClock,
    log: recordingLog().log,
    paused: true,
    ...options,
  });
  later(() => node.close());
  return node;
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'chain-'));
  later(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Draft {
  nonce: number;
  to?: Hex;
  data?: Hex;
  value?: bigint;
  gas?: bigint;
  maxFeePerGas?: bigint;
  maxPriorityFeePerGas?: bigint;
  chainId?: number;
}

export const sign = (draft: Draft, by = alice): Promise<Hex> =>
  by.signTransaction({
    chainId: CHAIN_ID,
    type: 'eip1559',
    gas: 100_000n,
    to: bob.address,
    maxFeePerGas: 10n ** 9n,
    maxPriorityFeePerGas: 10n,
    ...draft,
  });

export async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : (JSON.parse(text) as unknown) };
}

export interface Answer {
  id: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

export async function call(url: string, method: string, params: readonly unknown[] = []): Promise<Answer> {
  return (await post(url, { jsonrpc: '2.0', id: 7, method, params })).body as Answer;
}

export const send = async (url: string, draft: Draft, by = alice): Promise<Answer> =>
  call(url, 'eth_sendRawTransaction', [await sign(draft, by)]);
