import { WebSocket } from 'ws';
import { z } from 'zod';
import type { Logger } from '../../ports/log.js';
import type { Clock } from '../../ports/clock.js';
import type { BlockHead, Cancel, Hex } from '../../types.js';

export interface HeadSubscriptionOptions {
  readonly url: string;
  readonly chainId: number;
  readonly clock: Clock;
  readonly log: Logger;
}

const REDIAL_MS = 2_000;
const MAX_PAYLOAD = 256 * 1024;

/** JSON-RPC ids of the two requests. */
const CHAIN_ID = 1;
const SUBSCRIBE = 2;

const hex = z.string().regex(/^0x[0-9a-fA-F]+$/);
const Head = z.object({ number: hex, hash: hex, parentHash: hex, timestamp: hex });
const Frame = z.union([
  z.object({ method: z.literal('eth_subscription'), params: z.object({ result: Head }) }),
  z.object({ id: z.literal(CHAIN_ID), result: hex }),
]);

/**
 * Subscribes to new blocks of a node, to learn of them sooner than by polling. Callers must keep polling: a connection that is down, silent
 * or of another chain only loses this advantage.
 */
export function subscribeToHeads({ url, chainId, clock, log }: HeadSubscriptionOptions, publish: (block: BlockHead) => void): Cancel {
  let stopped = false;
  let socket: WebSocket | null = null;
  let cancelRedial: Cancel = () => undefined;

  const dial = (): void => {
    if (stopped) return;
    const connection = new WebSocket(url, { maxPayload: MAX_PAYLOAD, followRedirects: false });
    let isProven = false;
    socket = connection;
    const ask = (id: number, method: string, params: readonly string[]): void =>
      connection.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    connection.on('open', () => ask(CHAIN_ID, 'eth_chainId', []));
    connection.on('message', (data: Buffer) => {
      const frame = readFrame(data);
      if (frame === null) return;
      if ('method' in frame) return isProven ? publish(headOf(frame.params.result)) : undefined;
      isProven = Number(frame.result) === chainId;
      if (isProven) return ask(SUBSCRIBE, 'eth_subscribe', ['newHeads']);
      log.warn('chain.head-line-of-another-chain', { chainId: Number(frame.result) });
      connection.close();
    });
    connection.on('error', () => connection.terminate());
    connection.on('close', () => {
      cancelRedial = stopped ? cancelRedial : clock.after(REDIAL_MS, dial);
    });
  };
  dial();
  return () => {
    stopped = true;
    cancelRedial();
    socket?.terminate();
  };
}

function readFrame(data: Buffer): z.output<typeof Frame> | null {
  try {
    return Frame.safeParse(JSON.parse(data.toString('utf8'))).data ?? null;
  } catch {
    return null;
  }
}

const headOf = ({ number, hash, parentHash, timestamp }: z.output<typeof Head>): BlockHead => ({
  number: BigInt(number),
  hash: hash as Hex,
  parentHash: parentHash as Hex,
  timestamp: BigInt(timestamp),
});
