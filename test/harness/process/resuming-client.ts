import { connect, isData, isOp, wsAuth, type SocketClient } from '../../native-api/ws/socket-client.js';
import type { AgentTrader } from '../traders/agent-trader.js';
import { CLUSTER_CHAIN } from './cluster.js';
import type { Replica } from './replica.js';
import type { ChainControls } from '../../../sandbox/controls.js';

/** A client of the stream that comes back with its cursor, to the next replica, whenever its connection ends; it keeps every cursor it receives. */
export interface ResumingClient {
  readonly cursors: readonly number[];
  /** The close codes of its connections. */
  readonly codes: readonly number[];
  stop(): Promise<void>;
}

export async function startResumingClient(agent: AgentTrader, chain: ChainControls, replicas: readonly Replica[]): Promise<ResumingClient> {
  const cursors: number[] = [];
  const codes: number[] = [];
  let last: number | null = null;
  const over = new AbortController();
  let connection: SocketClient | null = null;

  async function listen(replica: Replica, onBegun: () => void): Promise<void> {
    const client = await connect(replica.url(), `/v1/${CLUSTER_CHAIN}/ws`);
    connection = client;
    client.socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as { channel?: string; op?: string; cursor?: number; snapshot?: boolean };
      if (message.channel !== 'orders' || message.op !== undefined || message.cursor === undefined) return;
      if (message.snapshot !== true) cursors.push(message.cursor);
      last = message.cursor;
    });
    await client.ask(await wsAuth(agent.wallet, chain.definition), isOp('authenticated'));
    await client.ask({ op: 'subscribe', channel: 'orders', ...(last === null ? {} : { after: last }) }, isOp('subscribed', 'orders'));
    if (last === null) await client.find(isData('orders'));
    onBegun();
    codes.push(await client.closed);
  }

  let begun: () => void = () => undefined;
  const hasBegun = new Promise<void>((resolve) => (begun = resolve));
  const done = (async () => {
    for (let turn = 0; !over.signal.aborted; turn += 1) {
      const replica = replicas[turn % replicas.length];
      // One that is down is passed over, as a balancer does it.
      if (replica) await listen(replica, begun).catch(() => connection?.socket.terminate());
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  await hasBegun;
  return {
    cursors,
    codes,
    async stop() {
      over.abort();
      connection?.socket.terminate();
      await done;
    },
  };
}
