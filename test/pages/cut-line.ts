import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** The way between browser and gateway, which can be cut in both fashions. */
export interface CutLine {
  readonly url: string;
  /** Nothing gets through any more, and neither side gets a close: as when a cable is pulled. */
  freeze(): void;
  /** Ends every connection and takes no new one. */
  cut(): void;
  /** New connections go through; frozen ones go on. */
  heal(): void;
  close(): Promise<void>;
}

export async function openCutLine(target: string): Promise<CutLine> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let state: 'open' | 'frozen' | 'cut' = 'open';
  const server = createServer((client) => {
    if (state === 'cut') return void client.destroy();
    const upstream = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      from.on('error', () => undefined);
      from.on('close', () => {
        open.delete(from);
        to.destroy();
      });
      from.pipe(to);
      if (state === 'frozen') from.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    freeze() {
      state = 'frozen';
      for (const socket of open) socket.pause();
    },
    cut() {
      state = 'cut';
      for (const socket of open) socket.destroy();
    },
    heal() {
      state = 'open';
      for (const socket of open) socket.resume();
    },
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
