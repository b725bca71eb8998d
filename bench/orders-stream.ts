import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { ChainControls } from '../sandbox/controls.js';
import { done, type AgentTrader, type Json } from '../test/harness/traders/agent-trader.js';
import { eventually } from '../test/harness/time/eventually.js';
import { signRequest } from '../test/harness/traders/signed-request.js';
import { median } from './median.js';

const TURNS = 20;

export interface StreamOptions {
  readonly agent: AgentTrader;
  readonly chain: ChainControls;
  /** Of the gateway. */
  readonly url: string;
  readonly nodeUrl: string;
  readonly order: () => Json;
}

/** Milliseconds at the median from the moment a block with the order's event exists to the message that says so, less one round trip to a node. */
export async function measureStream({ agent, chain, url, nodeUrl, order }: StreamOptions): Promise<number> {
  const path = `/v1/${chain.definition.slug}/ws`;
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`);
  const heard = new Map<string, number>();
  socket.on('message', (bytes: Buffer) => {
    const said = JSON.parse(bytes.toString()) as { op?: string; channel?: string; data?: Json };
    if (said.op === 'ping') socket.send('{"op":"pong"}');
    if (said.channel === 'orders' && said.data?.['status'] === 'open') heard.set(String(said.data['id']), performance.now());
  });
  await once(socket, 'open');
  const signed = await signRequest(agent.wallet, chain.definition, { operationId: 'wsAuth', method: 'WS', path });
  const credential = (name: string): string => signed[`X-Service-${name}`] ?? '';
  const auth = {
    agent: credential('Agent'),
    timestamp: credential('Timestamp'),
    nonce: credential('Nonce'),
    signature: credential('Signature'),
  };
  socket.send(JSON.stringify({ op: 'auth', ...auth }));
  socket.send(JSON.stringify({ op: 'subscribe', channel: 'orders' }));
  const took: number[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    const { order: made, transaction } = done(await agent.create(order()));
    await chain.pauseMining(true);
    if (transaction) await agent.broadcast(transaction);
    await chain.mine(1);
    const mined = performance.now();
    await chain.pauseMining(false);
    took.push(
      ((await eventually(
        () => heard.get(String(made['id'])),
        (at) => at !== undefined,
      )) ?? Number.NaN) - mined,
    );
  }
  socket.close();
  return median(took) - (await roundTrip(nodeUrl));
}

async function roundTrip(nodeUrl: string): Promise<number> {
  const took: number[] = [];
  for (let turn = 0; turn < 50; turn += 1) {
    const since = performance.now();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] });
    await (await fetch(nodeUrl, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } })).text();
    took.push(performance.now() - since);
  }
  return median(took);
}
