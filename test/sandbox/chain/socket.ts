import { once } from 'node:events';
import { WebSocket } from 'ws';
import { later, type Answer } from './fixture.js';

interface Frame extends Answer {
  method?: string;
  params?: { subscription: string; result: unknown };
}

/** A plain WebSocket client that knows nothing of our server. */
export async function connect(url: string) {
  const socket = new WebSocket(url);
  const frames: Frame[] = [];
  socket.on('message', (data: Buffer) => void frames.push(JSON.parse(data.toString('utf8')) as Frame));
  socket.on('error', () => undefined);
  later(() => socket.terminate());
  await once(socket, 'open');
  let lastId = 0;

  async function until<Found>(find: () => Found | undefined): Promise<Found> {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      await once(socket, 'message');
    }
  }

  async function ask(method: string, params: readonly unknown[] = []): Promise<Frame> {
    lastId += 1;
    const id = lastId;
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    return until(() => frames.find((frame) => frame.id === id));
  }

  const notesOf = (id: unknown): unknown[] =>
    frames.filter(({ params }) => params?.subscription === id).map(({ params }) => params?.result);

  return {
    socket,
    frames,
    ask,
    call: async (method: string, params?: readonly unknown[]) => (await ask(method, params)).result,
    /** The first `count` notifications of a subscription, once they are there. */
    notifications: (id: unknown, count: number) => until(() => (notesOf(id).length >= count ? notesOf(id) : undefined)),
  };
}
