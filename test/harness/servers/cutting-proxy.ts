import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';

/** A TCP wire between a client and the service that can be cut. */
export interface CuttingProxy {
  readonly url: string;
  /** Ends every connection at once, without a close frame. */
  cut(): void;
  stop(): Promise<void>;
}

export async function startCuttingProxy(upstream: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(upstream);
  const open = new Set<Socket>();
  const server = createTcpServer((client) => {
    const service = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, service],
      [service, client],
    ] as const) {
      open.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        open.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => open.forEach((socket) => socket.destroy());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}

/** The moments of a request at which something may happen to its client. */
export type Moment = 'before it is sent' | 'before it is answered' | 'after it is answered';

export interface WatchedProxy {
  readonly url: string;
  /** Called at each moment of each request whose path ends so. */
  watch(ending: string, onMoment: (moment: Moment, at: number) => void): void;
  stop(): Promise<void>;
}

/** Passes requests on as they are. What a dead client has sent reaches the service nevertheless, as on any network. */
export async function startWatchedProxy(upstream: string): Promise<WatchedProxy> {
  let watched = '';
  let count = 0;
  let tell: (moment: Moment, at: number) => void = () => undefined;
  const server = createServer((incoming, outgoing) => void relay(incoming, outgoing));

  async function relay(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const isWatched = watched !== '' && (incoming.url ?? '').endsWith(watched);
    const at = isWatched ? (count += 1) : 0;
    const notify = (moment: Moment): void => (isWatched ? tell(moment, at) : undefined);
    notify('before it is sent');
    if (incoming.socket.destroyed) return;
    const passed = forward(`${upstream}${incoming.url ?? ''}`, { method: incoming.method, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
      answer.on('end', () => notify('after it is answered'));
    });
    passed.on('error', () => outgoing.destroy());
    passed.end(Buffer.concat(chunks), () => notify('before it is answered'));
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    watch(ending, onMoment) {
      [watched, count, tell] = [ending, 0, onMoment];
    },
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
