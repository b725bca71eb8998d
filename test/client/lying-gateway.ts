import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { concatHex, decodeFunctionData, encodeFunctionData, size, slice, type DecodeFunctionDataReturnType, type Hex } from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';

export type Json = Record<string, unknown>;
/** What becomes of a reply; null passes it on as it is. */
export type Lie = (request: { readonly method: string; readonly path: string }, reply: Json) => Json | null;

/** The gateway or node behind `target`, but for what `lie` makes of its replies. It keeps what was asked of it. */
export interface LyingServer {
  readonly url: string;
  lie: Lie;
  readonly asked: { readonly method: string; readonly path: string; readonly body: string }[];
  stop(): Promise<void>;
}

export async function startLyingServer(target: string): Promise<LyingServer> {
  const asked: LyingServer['asked'] = [];
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const [method, path, body] = [request.method ?? 'GET', request.url ?? '/', await textOf(request)];
      asked.push({ method, path, body });
      const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => name !== 'host' && name !== 'connection'));
      const reply = await fetch(`${target}${path}`, {
        method,
        headers: headers as Record<string, string>,
        ...(body === '' ? {} : { body }),
      });
      const text = await reply.text();
      const twisted = made.lie({ method, path }, JSON.parse(text) as Json);
      // A lie about an order hides a refusal.
      response.writeHead(twisted !== null && 'order' in twisted && !reply.ok ? 200 : reply.status, { 'Content-Type': 'application/json' });
      response.end(twisted === null ? text : JSON.stringify(twisted));
    };
    answer().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const made: LyingServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lie: () => null,
    asked,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return made;
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

/** Changes fields of the prepared transaction in every reply that has one. */
export const inTransaction =
  (change: (transaction: Json) => Json): Lie =>
  (_request, reply) =>
    reply['transaction'] === undefined || reply['transaction'] === null
      ? null
      : { ...reply, transaction: change(reply['transaction'] as Json) };

export type AnyCall = DecodeFunctionDataReturnType<typeof diamondAbi>;

const encode = (call: AnyCall): Hex => encodeFunctionData({ abi: diamondAbi, ...call });
const TAG_BYTES = 24;

/** Changes the calls that the trader would make, keeping delegation and tag. */
export const inCalls = (change: (calls: AnyCall[]) => AnyCall[]): Lie =>
  inTransaction((transaction) => {
    const data = transaction['data'] as Hex;
    const outer = decodeFunctionData({ abi: diamondAbi, data });
    if (outer.functionName !== 'delegatedTradingAction') throw new Error(`the transaction calls ${outer.functionName}`);
    const [trader, inner] = outer.args;
    const first = decodeFunctionData({ abi: diamondAbi, data: inner });
    const calls =
      first.functionName === 'multicall' ? first.args[0].map((part) => decodeFunctionData({ abi: diamondAbi, data: part })) : [first];
    return { ...transaction, data: delegated(trader, change(calls), slice(data, size(data) - TAG_BYTES)) };
  });

/** A delegated call with the tag of another one. */
export function delegated(trader: Hex, calls: readonly AnyCall[], tag: Hex): Hex {
  const [only, ...others] = calls.map(encode);
  if (only === undefined) throw new Error('there is nothing to call');
  const inner = others.length === 0 ? only : encodeFunctionData({ abi: diamondAbi, functionName: 'multicall', args: [[only, ...others]] });
  return concatHex([encodeFunctionData({ abi: diamondAbi, functionName: 'delegatedTradingAction', args: [trader, inner] }), tag]);
}

/** Changes the arguments of the call of this name. */
export const inArgs = <Name extends AnyCall['functionName']>(
  name: Name,
  change: (args: Extract<AnyCall, { functionName: Name }>['args']) => readonly unknown[],
): Lie => {
  const changed = change as (args: unknown) => readonly unknown[];
  return inCalls((calls) => calls.map((call) => (call.functionName === name ? ({ ...call, args: changed(call.args) } as AnyCall) : call)));
};
