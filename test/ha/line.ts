import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** What one server copies from another by. `database-proxy.ts` reads what passes, and does not know what PostgreSQL's own tools say. */
export interface Line {
  readonly port: number;
  /** Nothing gets through, and neither side sees an error. */
  freeze(): void;
  /** What was held back is lost, and the connections with it; new ones go through. */
  drop(): void;
  close(): Promise<void>;
}

export async function openLine(target: number): Promise<Line> {
  const open = new Set<Socket>();
  let isFrozen = false;
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      from.on('data', (bytes) => to.write(bytes));
      from.on('error', () => undefined);
      from.on('close', () => {
        open.delete(from);
        to.destroy();
      });
      if (isFrozen) from.pause();
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const each = (act: (socket: Socket) => void): void => [...open].forEach(act);
  return {
    port: (server.address() as AddressInfo).port,
    freeze() {
      isFrozen = true;
      each((socket) => socket.pause());
    },
    drop() {
      isFrozen = false;
      each((socket) => socket.destroy());
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      each((socket) => socket.destroy());
      await closed;
    },
  };
}
