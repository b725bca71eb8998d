import type net from 'node:net';
import {
  boundName,
  createFrameReader,
  encodeFrame,
  processId,
  statementOf,
  withBoundName,
  withStatementName,
  type Frame,
} from './wire-messages.js';

/**
 * Sessions of the real server. Forking one, and parsing and planning every statement anew in it, takes longer than what most statements do.
 * So the connections of the gateway share them, as behind a pooler in transaction mode, and a text is prepared once in each.
 */

export interface ServerSession {
  readonly pid: number;
  /** What the server sent when it was opened. */
  readonly welcome: readonly Frame[];
  /** The statement that chose its settings. */
  settings: string | null;
  /** Names of the statements that it has prepared. */
  readonly prepared: Set<string>;
  /** Resolves at the last ReadyForQuery, or when it ends. The answers to the first messages, which end in a ReadyForQuery each, are left out. */
  send(frames: readonly Frame[], leftOut?: number): Promise<void>;
  /** What the server has sent since the last call. */
  take(): Frame[];
  isOver(): boolean;
  destroy(): void;
}

export interface ServerSessions {
  /** Of those that are free the first that was opened, so that equal runs use the same. */
  borrow(): Promise<ServerSession>;
  giveBack(session: ServerSession): void;
  /** What a client is sent as the answer to its first message, by which others are opened too. */
  welcome(startup: readonly Frame[]): Promise<readonly Frame[]>;
  close(): void;
}

export function createServerSessions(connect: () => net.Socket): ServerSessions {
  const all: ServerSession[] = [];
  const free = new Set<ServerSession>();
  let opening: readonly Frame[] = [];

  async function open(): Promise<ServerSession> {
    const made = await openSession(connect(), opening);
    all.push(made);
    return made;
  }

  return {
    async borrow() {
      const chosen = all.find((each) => free.has(each));
      if (chosen === undefined) return open();
      free.delete(chosen);
      return chosen;
    },
    giveBack: (session) => void free.add(session),
    async welcome(startup) {
      if (all.length === 0) {
        opening = startup;
        free.add(await open());
      }
      return all[0]?.welcome ?? [];
    },
    close: () => all.forEach((each) => each.destroy()),
  };
}

async function openSession(socket: net.Socket, startup: readonly Frame[]): Promise<ServerSession> {
  let received: Frame[] = [];
  let answersLeftOut = 0;
  let isOver = false;
  let onReady = (): void => undefined;
  const read = createFrameReader(false);
  socket.on('data', (bytes) => {
    for (const frame of read(bytes)) {
      received.push(frame);
      if (frame.type !== 'Z') continue;
      if (answersLeftOut === 0) onReady();
      else {
        answersLeftOut -= 1;
        received = received.filter(({ type }) => type === 'A');
      }
    }
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isOver = true;
    onReady();
  });
  const take = (): Frame[] => {
    const taken = received;
    received = [];
    return taken;
  };
  const send = (frames: readonly Frame[], leftOut = 0): Promise<void> =>
    new Promise((resolve) => {
      if (isOver) return resolve();
      onReady = resolve;
      answersLeftOut = leftOut;
      socket.write(frames.length === 1 && frames[0] !== undefined ? encodeFrame(frames[0]) : Buffer.concat(frames.map(encodeFrame)));
    });
  await send(startup);
  const welcome = take();
  const key = welcome.find(({ type }) => type === 'K');
  if (key === undefined) throw new Error('the database server opens no session');
  return {
    pid: processId(key),
    welcome,
    settings: null,
    prepared: new Set(),
    send,
    take,
    isOver: () => isOver,
    destroy() {
      isOver = true;
      socket.destroy();
    },
  };
}

/** A text with the types of its parameters, and the name under which it is prepared. */
export interface SharedStatement {
  readonly name: string;
  readonly parse: Frame;
}

/** Texts with values in them differ each time; only those that come again are prepared. */
const MOST_KEPT = 2_000;
const known = new Map<string, SharedStatement | null>();
let named = 0;

/** Null: the text came for the first time, and has no name. */
export function sharedStatement(parse: Frame): SharedStatement | null {
  const client = statementOf(parse)?.name ?? '';
  const text = parse.body.toString('latin1', Buffer.byteLength(client) + 1);
  const before = known.get(text);
  if (before !== undefined && before !== null) return before;
  if (known.size >= MOST_KEPT) known.clear();
  if (before === undefined && client === '') {
    known.set(text, null);
    return null;
  }
  const name = `shared_${(named += 1)}`;
  const made = { name, parse: withStatementName(parse, name) };
  known.set(text, made);
  return made;
}

/** A message of a client; `shared`: the statement that it prepares or binds. */
export interface ClientMessage {
  readonly frame: Frame;
  readonly shared: SharedStatement | null;
}

export interface Translation {
  readonly frames: readonly Frame[];
  /** What the client is sent for what the server has answered. */
  readonly answerOf: (received: readonly Frame[]) => Frame[];
}

const PARSED: Frame = { type: '1', body: Buffer.alloc(0) };

/**
 * A Parse or Bind whose answer is awaited. `left-out`: the server has prepared it, and the client expects an answer. `added`: the client
 * prepared it in another session, and expects none.
 */
type Awaited =
  { readonly kind: 'parse' | 'added'; readonly name: string | null } | { readonly kind: 'left-out' } | { readonly kind: 'bind' };

/** Messages of one round trip for this session. */
export function translate(messages: readonly ClientMessage[], { prepared }: Pick<ServerSession, 'prepared'>): Translation {
  const frames: Frame[] = [];
  const awaited: Awaited[] = [];
  const sent = new Set<string>();
  const isPrepared = (name: string): boolean => prepared.has(name) || sent.has(name);
  const prepare = ({ name, parse }: SharedStatement, kind: 'parse' | 'added'): void => {
    frames.push(parse);
    sent.add(name);
    awaited.push({ kind, name });
  };
  for (const { frame, shared } of messages) {
    if (frame.type === 'P' && shared !== null && isPrepared(shared.name)) awaited.push({ kind: 'left-out' });
    else if (frame.type === 'P' && shared !== null) prepare(shared, 'parse');
    else if (frame.type === 'B' && shared !== null) {
      if (!isPrepared(shared.name)) prepare(shared, 'added');
      frames.push(withBoundName(frame, shared.name));
      awaited.push({ kind: 'bind' });
    } else {
      frames.push(frame);
      if (frame.type === 'P') awaited.push({ kind: 'parse', name: null });
      if (frame.type === 'B') awaited.push({ kind: 'bind' });
    }
  }
  return { frames, answerOf: (received) => answerTo(awaited, received, prepared) };
}

function answerTo(awaited: readonly Awaited[], received: readonly Frame[], prepared: Set<string>): Frame[] {
  const answer: Frame[] = [];
  let at = 0;
  /** Between the answer to a Bind and the end of its statement: an error is about that one. */
  let isExecuting = false;
  const answerLeftOut = (): void => {
    for (; awaited[at]?.kind === 'left-out'; at += 1) answer.push(PARSED);
  };
  for (const frame of received) {
    if (frame.type === '1') {
      answerLeftOut();
      const own = awaited[at];
      at += 1;
      if (own?.kind !== 'parse' && own?.kind !== 'added') throw new Error('the database server has prepared what was not asked');
      if (own.name !== null) prepared.add(own.name);
      if (own.kind === 'added') continue;
    } else if (frame.type === '2') {
      answerLeftOut();
      at += 1;
      isExecuting = true;
    } else if (ENDS_STATEMENT.has(frame.type)) isExecuting = false;
    else if (frame.type === 'E' && !isExecuting) answerLeftOut();
    answer.push(frame);
  }
  return answer;
}

/** CommandComplete, EmptyQueryResponse, PortalSuspended. */
const ENDS_STATEMENT: ReadonlySet<string> = new Set(['C', 'I', 's']);

/** The name that a message of a client prepares or binds. */
export const nameIn = (frame: Frame): string => (frame.type === 'B' ? boundName(frame) : (statementOf(frame)?.name ?? ''));
