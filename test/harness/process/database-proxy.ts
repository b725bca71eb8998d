import { createServer, connect, type AddressInfo, type Socket } from 'node:net';

/** A proxy to the database that can be cut, goes silent on demand, and records the statements. */
export interface DatabaseProxy {
  readonly url: string;
  /** Nothing gets through in either direction, and neither side sees an error: as when a cable is pulled. What was sent arrives after `heal`. */
  freeze(): void;
  heal(): void;
  /** The connections there are fall silent, and new ones go through: as when a router on the way forgets them. */
  abandon(): void;
  /** Ends every connection; new ones go through. */
  reset(): void;
  /** Statements since the last call, one entry for each time the server was asked and waited for. */
  roundTrips(): string[];
  /** The client ports of this proxy's connections, as the server sees them. */
  ports(): number[];
  close(): Promise<void>;
}

export interface LineOptions {
  /** Notices never come through, as behind a pooler that lends its connections for a transaction. */
  readonly isDeaf?: boolean;
}

const NOTICE = 'A';

export async function openDatabaseLine(target: string, { isDeaf = false }: LineOptions = {}): Promise<DatabaseProxy> {
  const place = new URL(target);
  const pairs = new Set<readonly [Socket, Socket]>();
  const asked: string[] = [];
  let isFrozen = false;

  const server = createServer((client) => {
    const upstream = connect(Number(place.port), place.hostname);
    const pair = [client, upstream] as const;
    pairs.add(pair);
    const statements = createStatementReader((text) => asked.push(text));
    const notices = createFilter((type) => !(isDeaf && type === NOTICE));
    pass(client, upstream, (bytes) => {
      statements(bytes);
      return bytes;
    });
    pass(upstream, client, notices);
    for (const socket of pair) {
      if (isFrozen) socket.pause();
      socket.on('error', () => undefined).on('close', () => pairs.delete(pair));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  const each = (act: (socket: Socket) => void): void => [...pairs].flat().forEach(act);

  return {
    url: url.href,
    freeze() {
      isFrozen = true;
      each((socket) => socket.pause());
    },
    heal() {
      isFrozen = false;
      each((socket) => socket.resume());
    },
    abandon: () => each((socket) => socket.pause()),
    reset: () => each((socket) => socket.destroy()),
    roundTrips: () => asked.splice(0),
    ports: () => [...pairs].map(([, upstream]) => upstream.localPort ?? 0),
    async close() {
      each((socket) => socket.destroy());
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** The end of a connection is passed on like data: not while the proxy is frozen, which leaves it unread. */
function pass(from: Socket, to: Socket, through: (bytes: Buffer) => Buffer): void {
  from.setNoDelay(true);
  from.on('data', (bytes: Buffer) => {
    const left = through(bytes);
    if (left.length > 0) to.write(left);
  });
  from.on('end', () => to.end());
  from.on('error', () => to.destroy());
}

const TYPED = 5;

/** Whole messages of the protocol from a stream of bytes. A client's first one has no type. */
function createMessages(isTyped: boolean, take: (type: string, message: Buffer) => void): (bytes: Buffer) => void {
  let kept = Buffer.alloc(0);
  let typed = isTyped;
  return (bytes) => {
    kept = Buffer.concat([kept, bytes]);
    for (;;) {
      const at = typed ? 1 : 0;
      if (kept.length < TYPED) return;
      const size = at + kept.readInt32BE(at);
      if (kept.length < size) return;
      take(typed ? String.fromCharCode(kept[0] ?? 0) : '', kept.subarray(0, size));
      kept = kept.subarray(size);
      typed = true;
    }
  };
}

const textOf = (message: Buffer, from: number): string => message.toString('utf8', from, message.indexOf(0, from));

const afterText = (message: Buffer, from: number): number => message.indexOf(0, from) + 1;

/** A simple query is a round trip, and so is everything up to a sync. A statement that has a name is read once and bound often. */
function createStatementReader(record: (text: string) => void): (bytes: Buffer) => void {
  const texts = new Map<string, string>();
  let bound: string[] = [];
  return createMessages(false, (type, message) => {
    if (type === 'Q') record(textOf(message, TYPED));
    if (type === 'P') texts.set(textOf(message, TYPED), textOf(message, afterText(message, TYPED)));
    if (type === 'B') bound.push(texts.get(textOf(message, afterText(message, TYPED))) ?? '');
    if (type !== 'S') return;
    record(bound.join('; '));
    bound = [];
  });
}

function createFilter(passes: (type: string) => boolean): (bytes: Buffer) => Buffer {
  let out: Buffer[] = [];
  const read = createMessages(true, (type, message) => {
    if (passes(type)) out.push(message);
  });
  return (bytes) => {
    out = [];
    read(bytes);
    return Buffer.concat(out);
  };
}
