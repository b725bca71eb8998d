import type { IncomingMessage } from 'node:http';
import net from 'node:net';
import type { Cancel } from '../../core/types.js';
import type { Lane, Owner, Scheduler } from './scheduler.js';

/**
 * The network of a simulation: every socket of the process that is opened while it is installed. Bytes of one direction of a connection are
 * a lane of the scheduler. The host of an address says who connects to whom: `127.<from>.<to>.<life of the first>`.
 */
export interface Network {
  /** The address at which `from` reaches `to`. */
  host(from: Owner, to: Owner): string;
  /** Connections to this host and port are handled here instead of by a server. */
  serve(to: Owner, port: number, accept: (end: SocketEnd) => void): void;
  /** Ends every connection of an owner; its peers see a reset. */
  cutAll(owner: Owner): void;
  /** Cuts one connection between the two, chosen by the caller; false without one. */
  cut(from: Owner, to: Owner, choose: (count: number) => number): boolean;
  /** Delay of the next message, in ms. */
  setLatency(latency: Latency): void;
  open(): number;
  restore(): void;
}

export type Latency = (from: Owner, to: Owner) => number;

/** The far end of a client's socket, for a service that is no server of Node. */
export interface SocketEnd {
  readonly from: Owner;
  readonly id: number;
  onData: (bytes: Buffer) => void;
  /** The client has closed or reset the connection. */
  onClose: () => void;
  /** Delivered as an event that belongs to the client's owner. */
  send(bytes: Buffer, label: string, delayMs: number): void;
  /** Resets the connection. */
  close(label: string): void;
  /** Ends it in order. */
  finish(): void;
}

const NUMBERS: Readonly<Record<Owner, number>> = {
  venue: 0,
  'replica-1': 1,
  'replica-2': 2,
  'replica-3': 3,
  database: 7,
  clients: 9,
  world: 10,
};
const OWNERS = new Map(Object.entries(NUMBERS).map(([owner, number]) => [number, owner as Owner]));

/** Fields of Node's sockets and servers that their types omit. */
interface InnerSocket extends Omit<net.Socket, 'connecting'> {
  connecting: boolean;
  _peername: object;
  _server: InnerServer | null;
  server: InnerServer;
  _write: (chunk: Buffer, encoding: string, done: () => void) => void;
  _writev: (chunks: { readonly chunk: Buffer | string; readonly encoding: BufferEncoding }[], done: () => void) => void;
  _final: (done: () => void) => void;
  _read: () => void;
  _destroy: (error: Error | null, done: (error: Error | null) => void) => void;
}

interface InnerServer extends Omit<net.Server, 'listening'> {
  _handle: object | null;
  _connections: number;
}

interface End {
  readonly owner: Owner;
  /** Toward this end. */
  readonly lane: Lane;
  deliver(bytes: Buffer): void;
  finish(): void;
  reset(): void;
  unsent: Buffer[];
}

interface Link {
  readonly id: number;
  readonly from: Owner;
  readonly to: Owner;
  near: End;
  far: End | null;
  isCut: boolean;
  readonly opening: Lane;
}

const ownersOf = (host: string): { from: Owner; to: Owner; life: number } => {
  const [, from, to, life] = host.split('.').map(Number);
  // The loopback address that components of the venue use among themselves.
  return { from: OWNERS.get(from ?? 0) ?? 'venue', to: OWNERS.get(to ?? 0) ?? 'venue', life: (life ?? 1) - 1 };
};

export function installNetwork(scheduler: Scheduler, onDelivery: (bytes: Buffer) => void = () => undefined): Network {
  const servers = new Map<string, InnerServer>();
  /** Every one of the run: Node's HTTP server keeps a timer of its own until it is closed, and with it all that it reaches. */
  const listening: net.Server[] = [];
  const services = new Map<string, (end: SocketEnd) => void>();
  const links = new Set<Link>();
  /** Ends of killed processes. */
  const abandoned = new Set<End>();
  let latency: Latency = () => 0;
  let nextPort = 20_000;
  let nextLink = 1;

  const post = (link: Link, end: End, label: string, run: () => void): void =>
    end.lane.post(latency(end === link.near ? link.to : link.from, end.owner), label, run);

  const forget = (link: Link): void => {
    link.isCut = true;
    links.delete(link);
  };

  /** Bytes written before the delivery arrive together, as TCP would combine them. */
  function sendTo(link: Link, end: End, bytes: Buffer): void {
    if (link.isCut) return;
    end.unsent.push(bytes);
    if (end.unsent.length > 1) return;
    post(link, end, 'bytes', () => {
      const [only] = end.unsent;
      const all = only !== undefined && end.unsent.length === 1 ? only : Buffer.concat(end.unsent);
      end.unsent = [];
      end.deliver(all);
      onDelivery(all);
    });
  }

  const timerLanes = new Map<string, Lane>();
  function timersOf(owner: Owner): Lane {
    const key = `${owner} ${scheduler.lifeOf(owner)}`;
    const known = timerLanes.get(key) ?? scheduler.lane(owner, `${owner}/sockets`);
    timerLanes.set(key, known);
    return known;
  }

  const resetError = (): NodeJS.ErrnoException => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });

  /** Turns a fresh socket into one end of a link. */
  function attach(socket: InnerSocket, link: Link, owner: Owner, lane: Lane, peerOf: () => End | null): End {
    const asSocket = socket as unknown as net.Socket;
    const bytesOf = (chunk: Buffer | string, encoding: BufferEncoding): Buffer =>
      typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk;
    const early: Buffer[] = [];
    const send = (bytes: Buffer): void => {
      active();
      const peer = peerOf();
      if (peer === null) early.push(bytes);
      else sendTo(link, peer, bytes);
    };
    const destroy = socket._destroy.bind(socket);
    socket._write = (chunk, encoding, done) => {
      send(bytesOf(chunk, encoding as BufferEncoding));
      done();
    };
    socket._writev = (chunks, done) => {
      send(Buffer.concat(chunks.map(({ chunk, encoding }) => bytesOf(chunk, encoding))));
      done();
    };
    socket._read = () => undefined;
    // Without a handle each of these would wait for the connection anew.
    asSocket.ref = asSocket.unref = () => asSocket;
    socket._final = (done) => {
      const peer = peerOf();
      if (peer !== null && !link.isCut) post(link, peer, 'end', () => peer.finish());
      done();
    };
    socket._destroy = (error, done) => {
      const peer = peerOf();
      if (!link.isCut && peer !== null) {
        const isGraceful = (socket as unknown as net.Socket).writableFinished;
        post(link, peer, 'close', () => (isGraceful ? peer.finish() : peer.reset()));
      }
      lane.clear();
      forget(link);
      destroy(error, done);
    };
    const active = simulateTimeout(asSocket, timersOf(owner));
    asSocket.once('connect', () => early.splice(0).forEach(send));
    let isEnded = false;
    return {
      owner,
      lane,
      unsent: [],
      deliver(bytes) {
        if (asSocket.destroyed || isEnded) return;
        active();
        asSocket.push(bytes);
      },
      finish() {
        if (asSocket.destroyed || isEnded) return;
        isEnded = true;
        asSocket.push(null);
      },
      reset: () => void asSocket.destroy(resetError()),
    };
  }

  function refuse(socket: InnerSocket, lane: Lane): void {
    lane.post(0, 'refused', () => {
      (socket as unknown as net.Socket).destroy(
        Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' }),
      );
    });
  }

  function accept(link: Link, client: InnerSocket, server: InnerServer, to: Owner): void {
    const socket = new net.Socket({
      allowHalfOpen: (server as unknown as { allowHalfOpen: boolean }).allowHalfOpen,
    }) as unknown as InnerSocket;
    const far = attach(socket, link, to, scheduler.lane(to, `${link.from}>${to}#${link.id}`), () => link.near);
    link.far = far;
    socket._peername = { address: link.from === 'clients' ? '127.0.0.9' : '127.0.0.1', family: 'IPv4', port: 30_000 + link.id };
    socket._server = socket.server = server;
    server._connections += 1;
    (server as unknown as net.Server).emit('connection', socket);
    connected(client);
  }

  function connected(socket: InnerSocket): void {
    if ((socket as unknown as net.Socket).destroyed) return;
    socket.connecting = false;
    (socket as unknown as net.Socket).emit('connect');
    (socket as unknown as net.Socket).emit('ready');
  }

  function serveEnd(link: Link, serve: (end: SocketEnd) => void): void {
    const { near } = link;
    const end: SocketEnd = {
      from: link.from,
      id: link.id,
      onData: () => undefined,
      onClose: () => undefined,
      send: (bytes, label, delayMs) => {
        if (!link.isCut) near.lane.post(delayMs, label, () => near.deliver(bytes));
      },
      close: (label) => near.lane.post(0, label, () => near.reset()),
      finish: () => near.lane.post(0, 'end', () => near.finish()),
    };
    // The service decides itself when a message counts as arrived.
    const immediate = { ...scheduler.lane('database', 'direct') };
    link.far = {
      owner: link.to,
      lane: { ...immediate, post: (_delay, _label, run) => void run() },
      unsent: [],
      deliver: (bytes) => end.onData(bytes),
      finish: () => end.onClose(),
      reset: () => end.onClose(),
    };
    serve(end);
  }

  function connect(socket: InnerSocket, host: string, port: number): void {
    const { from, to, life } = ownersOf(host);
    const id = nextLink++;
    const lane = scheduler.lane(from, `${to}>${from}#${id}`);
    let link: Link;
    const near = attach(
      socket,
      (link = { id, from, to, near: null as never, far: null, isCut: false, opening: lane }),
      from,
      lane,
      () => link.far,
    );
    link.near = near;
    links.add(link);
    socket.connecting = true;
    socket._peername = { address: host, family: 'IPv4', port };
    const service = services.get(`${to}:${port}`);
    const server = servers.get(`${to}:${port}`);
    if (scheduler.stateOf(from) === 'dead' || life !== scheduler.lifeOf(from)) return;
    if (service !== undefined)
      return scheduler.lane('database', `${from}>${to}#${id}`).post(latency(from, to), 'connect', () => {
        if (link.isCut) return;
        serveEnd(link, service);
        lane.post(latency(to, from), 'connected', () => connected(socket));
      });
    if (server === undefined || scheduler.stateOf(to) === 'dead') return refuse(socket, lane);
    scheduler.lane(to, `${from}>${to}#${id}`).post(latency(from, to), 'connect', () => {
      if (link.isCut) return;
      if (servers.get(`${to}:${port}`) === server) accept(link, socket, server, to);
      else refuse(socket, lane);
    });
  }

  /* oxlint-disable typescript/unbound-method -- put back as they were */
  const socketConnect = net.Socket.prototype.connect;
  const serverListen = net.Server.prototype.listen;
  /* oxlint-enable typescript/unbound-method */
  net.Socket.prototype.connect = function simulated(this: net.Socket, ...given: unknown[]) {
    const { host, port, done } = targetOf(given);
    if (done) this.once('connect', done);
    connect(this as unknown as InnerSocket, host, port);
    return this;
  };
  net.Server.prototype.listen = function simulated(this: net.Server, ...given: unknown[]) {
    const { host, port: asked, done } = targetOf(given);
    if (done) this.once('listening', done);
    const port = asked === 0 ? nextPort++ : asked;
    const { to } = ownersOf(host);
    const key = `${to}:${port}`;
    const server = this as unknown as InnerServer;
    servers.set(key, server);
    listening.push(this);
    server._handle = {
      close() {
        if (servers.get(key) === server) servers.delete(key);
      },
      getsockname: (out: object) => {
        Object.assign(out, { address: host, family: 'IPv4', port });
        return 0;
      },
      ref: () => undefined,
      unref: () => undefined,
    };
    // Compression works on threads, which would end at any moment.
    this.prependListener('request', ({ headers }: IncomingMessage) => delete headers['accept-encoding']);
    process.nextTick(() => this.emit('listening'));
    return this;
  } as typeof serverListen;

  return {
    host: (from, to) => `127.${NUMBERS[from]}.${NUMBERS[to]}.${scheduler.lifeOf(from) + 1}`,
    serve: (to, port, serve) => void services.set(`${to}:${port}`, serve),
    cutAll(owner) {
      for (const link of [...links]) if (link.from === owner || link.to === owner) cutLink(link, owner);
      for (const [key] of [...servers]) if (key.startsWith(`${owner}:`)) servers.delete(key);
    },
    cut(from, to, choose) {
      const found = [...links].filter((link) => link.from === from && link.to === to && link.far !== null);
      const link = found[choose(found.length)];
      if (link === undefined) return false;
      cutLink(link, null);
      return true;
    },
    setLatency: (next) => void (latency = next),
    open: () => links.size,
    restore() {
      // Agents of the process keep connections for the next run otherwise.
      for (const link of [...links]) {
        forget(link);
        link.near.reset();
        link.far?.reset();
      }
      for (const end of abandoned) end.reset();
      for (const server of listening.splice(0)) server.close();
      net.Socket.prototype.connect = socketConnect;
      net.Server.prototype.listen = serverListen;
    },
  };

  /** Both ends see a reset, apart from an end whose process is gone. */
  function cutLink(link: Link, gone: Owner | null): void {
    forget(link);
    for (const end of [link.near, link.far])
      if (end?.owner === gone) abandoned.add(end);
      else end?.lane.post(0, 'reset', () => end.reset());
  }
}

/** Idle connections are closed by time; Node's sockets would measure it with the real time. Returns what an activity calls. */
function simulateTimeout(socket: net.Socket, timers: Lane): () => void {
  // A client may have set it before it connects.
  let ms = socket.timeout ?? 0;
  net.Socket.prototype.setTimeout.call(socket, 0);
  let cancel: Cancel = () => undefined;
  const restart = (): void => {
    cancel();
    cancel = ms > 0 && !socket.destroyed ? timers.schedule(Math.ceil(ms), 'idle', () => void socket.emit('timeout')) : () => undefined;
  };
  socket.setTimeout = (next: number, onTimeout?: () => void) => {
    ms = next;
    Object.assign(socket, { timeout: next });
    if (onTimeout !== undefined && next > 0) socket.once('timeout', onTimeout);
    if (onTimeout !== undefined && next === 0) socket.removeListener('timeout', onTimeout);
    restart();
    return socket;
  };
  (socket as unknown as { _unrefTimer: () => void })._unrefTimer = restart;
  socket.once('close', () => {
    ms = 0;
    restart();
  });
  restart();
  return restart;
}

interface Target {
  readonly host: string;
  readonly port: number;
  readonly done: (() => void) | undefined;
}

/** The forms of `connect` and `listen` that Node's own modules and our packages use. */
function targetOf(given: readonly unknown[]): Target {
  const args = Array.isArray(given[0]) ? (given[0] as unknown[]) : given;
  const done = args.find((each): each is () => void => typeof each === 'function');
  const [first, second] = args;
  if (typeof first === 'object' && first !== null) {
    const { host, port } = first as { host?: string; port?: number | string };
    return { host: host ?? '127.0.0.1', port: Number(port ?? 0), done };
  }
  return { host: typeof second === 'string' ? second : '127.0.0.1', port: Number(first ?? 0), done };
}
