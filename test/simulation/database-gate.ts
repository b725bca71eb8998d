import net from 'node:net';
import pg from 'pg';
import type { Latency, SocketEnd } from './network.js';
import { realClearTimeout, realSetImmediate, realSetTimeout } from './process-globals.js';
import type { Lane, Owner, Scheduler } from './scheduler.js';
import type { LaneState } from './faults/fault-table.js';
import {
  createServerSessions,
  nameIn,
  sharedStatement,
  translate,
  type ClientMessage,
  type ServerSession,
  type SharedStatement,
} from './database-sessions.js';
import type { SessionLimits } from './session-limits.js';
import { labelOf, readStatement, type StatementReading } from './statement-reading.js';
import {
  commandTag,
  createFrameReader,
  encodeFrame,
  errorCode,
  errorFrame,
  queryFrame,
  READY_IDLE,
  statementOf,
  SYNC,
  withErrorCode,
  withText,
  type Frame,
} from './wire-messages.js';

/**
 * Stands between the replicas and the real server. A round trip is an event: its messages reach the server when the scheduler releases it,
 * and its answer is an event of its own. A statement that waits for a lock lets the next event go. A connection has a session of the real
 * server while it is in a transaction, and for good once it has done something that belongs to a session, such as taking a lock of it.
 */
export interface DatabaseGate {
  accept(end: SocketEnd): void;
  /** Applied to the next round trips of an owner; see TripFault. */
  setFault(fault: DatabaseFault | null): void;
  /** The owner's process is gone: each of its connections ends, after what has been sent by then, or before it. */
  abandon(owner: Owner, isSentDone: () => boolean): void;
  /** Ends one connection of an owner as the server's administrator would; false without one. */
  terminate(owner: Owner, choose: (count: number) => number): Promise<boolean>;
  connections(owner: Owner): number;
  /** While it is down, every connection is ended and every new one refused. */
  setDown(isDown: boolean): Promise<void>;
  /** Ends every connection, and lets `work` have the database to itself, such as to put another one in its place. */
  alone<Seen>(change: AloneChange<Seen>): Promise<{ readonly before: Seen; readonly after: Seen }>;
  /** Called after each round trip that gives jobs or lanes a state, before its answer arrives. */
  watchStates(watcher: StateWatcher): void;
  /** Within an event. */
  readNow<Row extends object>(sql: string): Promise<Row[]>;
  /** Reads the database beside the replicas. */
  read<Row extends object>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

export interface AloneChange<Seen> {
  readonly work: (database: string) => Promise<unknown>;
  /** What is read before and after it, in the same event. */
  readonly look: (read: <Row extends object>(sql: string) => Promise<Row[]>) => Promise<Seen>;
}

export type StateWatcher = (state: LaneState, owner: Owner) => Promise<void>;

export type TripFault = 'none' | 'cut-before' | 'cut-after' | 'serialisation' | { readonly delayMs: number };
/** Decides the fate of a round trip. */
export type DatabaseFault = (owner: Owner, statements: readonly StatementReading[]) => TripFault;

export interface GateOptions {
  readonly scheduler: Scheduler;
  /** Of the real server. */
  readonly port: number;
  readonly database: string;
  readonly role: string;
  /** Before the network was simulated. */
  readonly connectReally: typeof net.Socket.prototype.connect;
  readonly latency: Latency;
}

interface Trip {
  readonly messages: readonly ClientMessage[];
  readonly statements: readonly StatementReading[];
  readonly isWrite: boolean;
  /** It reads the server's clock, or a default or trigger of its tables does. */
  readonly asksTime: boolean;
  readonly limits: SessionLimits;
  /** The settings of the session that it chooses. */
  readonly settings: string | null;
  readonly label: string;
}

/** A connection of the gateway. */
interface Session {
  readonly end: SocketEnd;
  readonly requests: Lane;
  /** Prepared ones by name. */
  readonly statements: Map<string, { readonly reading: StatementReading; readonly shared: SharedStatement | null }>;
  limits: SessionLimits;
  settings: string | null;
  /** The server has answered its first message. */
  isOpen: boolean;
  /** Null between two transactions. */
  real: ServerSession | null;
  /** It keeps its session of the server. */
  isBound: boolean;
  isListening: boolean;
  isInTransaction: boolean;
  /** It is in a transaction that can only be rolled back. */
  hasFailed: boolean;
  /** It has notified in a transaction that is not over. */
  hasNotified: boolean;
  isOver: boolean;
  /** A trip that waits for a lock. */
  blocked: (Exchange & { readonly trip: Trip; readonly cancelTimers: (() => void)[] }) | null;
  /** The code that replaces the one of a cancelled statement. */
  cancelCode: string | null;
  stopIdle: () => void;
}

/** A trip that was sent to the server. */
interface Exchange {
  readonly real: ServerSession;
  readonly done: Promise<void>;
  readonly answer: () => Frame[];
}

/** Real milliseconds after which a silent statement is suspected to wait for a lock. */
const SUSPECT_MS = 15;
/** States of a transaction in ReadyForQuery. */
const [IDLE, FAILED] = [0x49, 0x45];
/** What the server waits before it looks for a deadlock. */
const DEADLOCK_MS = 1_000;

export async function openDatabaseGate({ scheduler, port, database, role, connectReally, latency }: GateOptions): Promise<DatabaseGate> {
  const sessions = new Set<Session>();
  const openSessions = () =>
    createServerSessions(() => {
      const socket = realSocket();
      socket.setNoDelay(true);
      return socket.connect(port, '127.0.0.1');
    });
  let server = openSessions();
  const timers = scheduler.lane('database', 'database/timers');
  let fault: DatabaseFault | null = null;
  let stateWatcher: StateWatcher = () => Promise.resolve();
  let clockSet = -1;
  let isDown = false;

  function realSocket(): net.Socket {
    const socket = new net.Socket();
    socket.connect = connectReally;
    return socket;
  }
  async function openObserver(): Promise<pg.Client> {
    const made = new pg.Client({ host: '127.0.0.1', port, database, user: role, stream: () => realSocket() });
    await made.connect();
    made.on('error', () => undefined);
    return made;
  }
  let observer = await openObserver();

  /** Sets the server's clock, which every session reads, unless it is right. */
  function clockStatements(): string[] {
    if (clockSet === scheduler.now()) return [];
    clockSet = scheduler.now();
    return [`select setval('simulation.simulated_ms', ${scheduler.epoch + clockSet})`];
  }

  async function blockers(pid: number): Promise<number[]> {
    const { rows } = await observer.query<{ pids: number[] }>('select pg_blocking_pids($1) as pids', [pid]);
    return rows[0]?.pids ?? [];
  }

  /** Resolves with true once the session has answered, with false while it waits for a lock. */
  async function answered({ real, done }: Exchange): Promise<boolean> {
    for (;;) {
      if ((await isDoneWithin(done, SUSPECT_MS)) || real.isOver()) return true;
      if ((await blockers(real.pid)).length > 0) {
        // The answer may have come between the two.
        await new Promise((resolve) => realSetImmediate(resolve));
        return false;
      }
    }
  }

  /** Notifications reach a session with its next answer at the latest, so listeners are asked for one. */
  async function collectNotifications(): Promise<void> {
    for (const { real, end, isListening, blocked } of [...sessions]) {
      if (!isListening || blocked !== null || real === null) continue;
      await real.send([SYNC]);
      const notices = real.take().filter(({ type }) => type === 'A');
      if (notices.length > 0) end.send(Buffer.concat(notices.map(encodeFrame)), 'notification', latency('database', end.from));
    }
  }

  /**
   * Locks may have become free: every waiting statement either ends or waits for another one. One that ends may free the next, whichever of
   * them was asked first, so that all are looked at until none ends: which one the server was quick to finish must not decide.
   */
  async function recheckBlocked(): Promise<void> {
    const ended = new Set<Session>();
    for (let before = -1; ended.size > before;) {
      before = ended.size;
      for (const session of [...sessions])
        if (session.blocked !== null && !ended.has(session) && (await answered(session.blocked))) ended.add(session);
    }
    for (const session of [...sessions].filter((each) => ended.has(each))) {
      const { blocked } = session;
      if (blocked === null) continue;
      session.blocked = null;
      blocked.cancelTimers.forEach((cancel) => cancel());
      reply(session, blocked.trip, blocked.answer(), null);
      session.hasNotified ||= blocked.trip.statements.some(({ notifies }) => notifies);
    }
  }

  async function afterTrip(session: Session, trip: Trip): Promise<void> {
    for (const { leadsTo } of trip.statements)
      if (leadsTo !== null && !session.isInTransaction) await stateWatcher(leadsTo, session.end.from);
    if (trip.isWrite) await recheckBlocked();
    session.hasNotified ||= trip.statements.some(({ notifies }) => notifies);
    if (!session.hasNotified || session.isInTransaction) return;
    session.hasNotified = false;
    await collectNotifications();
  }

  async function execute(session: Session, trip: Trip): Promise<void> {
    if (session.isOver) return;
    session.stopIdle();
    const fate = fault?.(session.end.from, trip.statements) ?? 'none';
    if (fate !== 'none') scheduler.note(`fault ${typeof fate === 'object' ? 'slow-answer' : fate}`);
    if (fate === 'cut-before') return endSession(session, 'cut');
    if (fate === 'serialisation') return refuse(session, trip);
    if (trip.label === 'startup') {
      session.isOpen = true;
      return reply(session, trip, await server.welcome(trip.messages.map(({ frame }) => frame)), null);
    }
    if (trip.label === 'goodbye') {
      session.end.finish();
      return endSession(session, null);
    }
    const exchange = await send(session, trip);
    if (!(await answered(exchange))) {
      scheduler.note(`${scheduler.now()} ${session.requests.name} waits for a lock`);
      session.blocked = { ...exchange, trip, cancelTimers: watchBlocked(session, trip) };
      await breakDeadlock(session);
      return;
    }
    if (fate === 'cut-after') {
      await afterTrip(session, trip);
      return endSession(session, 'cut');
    }
    reply(session, trip, exchange.answer(), typeof fate === 'object' ? fate.delayMs : null);
    await afterTrip(session, trip);
  }

  async function send(session: Session, trip: Trip): Promise<Exchange> {
    const real = (session.real ??= await server.borrow());
    // What is set later is no setting that others share.
    session.isBound ||= trip.statements.some(({ bindsSession }) => bindsSession) || (trip.settings !== null && session.settings !== null);
    session.settings ??= trip.settings;
    const isChosen = trip.settings !== null || real.settings === session.settings || session.settings === null;
    const first = [...(isChosen ? [] : [session.settings ?? '']), ...(trip.asksTime && !session.hasFailed ? clockStatements() : [])];
    real.settings = session.settings;
    const { frames, answerOf } = translate(trip.messages, real);
    const done = real.send([...first.map(queryFrame), ...frames], first.length);
    return { real, done, answer: () => answerOf(real.take()) };
  }

  /** The server's own limits, which it would measure with the real time. */
  function watchBlocked(session: Session, { limits }: Trip): (() => void)[] {
    const cancelAfter = (ms: number, code: string): (() => void) =>
      timers.schedule(ms, `limit ${code}`, () => cancelStatement(session, code));
    return [
      ...(limits.lockMs > 0 ? [cancelAfter(limits.lockMs, '55P03')] : []),
      ...(limits.statementMs > 0 ? [cancelAfter(limits.statementMs, '57014')] : []),
    ];
  }

  async function cancelStatement(session: Session, code: string): Promise<void> {
    if (session.blocked === null) return;
    session.cancelCode = code;
    const { done, real } = session.blocked;
    await observer.query('select pg_cancel_backend($1)', [real.pid]);
    await done;
    await recheckBlocked();
  }

  /** Two sessions that wait for each other: the server would end the one that notices after a second. */
  async function breakDeadlock(session: Session): Promise<void> {
    const waitsFor = new Map<number, number[]>();
    for (const { blocked } of sessions) if (blocked !== null) waitsFor.set(blocked.real.pid, await blockers(blocked.real.pid));
    const own = session.blocked?.real.pid ?? 0;
    const reached = new Set<number>();
    const walk = (pid: number): void => {
      for (const next of waitsFor.get(pid) ?? [])
        if (!reached.has(next)) {
          reached.add(next);
          walk(next);
        }
    };
    walk(own);
    if (!reached.has(own)) return;
    session.blocked?.cancelTimers.push(timers.schedule(DEADLOCK_MS, 'deadlock', () => cancelStatement(session, '40P01')));
  }

  function reply(session: Session, trip: Trip, received: readonly Frame[], delayMs: number | null): void {
    const code = session.cancelCode;
    session.cancelCode = null;
    const frames = received.map((frame) =>
      code !== null && frame.type === 'E' && errorCode(frame) === '57014' ? withErrorCode(frame, code) : frame,
    );
    for (const { type, body } of frames)
      if (type === 'Z') {
        session.isInTransaction = body[0] !== IDLE;
        session.hasFailed = body[0] === FAILED;
      }
    giveBack(session);
    session.limits = trip.limits.isLocal ? session.limits : trip.limits;
    if (trip.statements.some(({ listens }) => listens)) session.isListening = true;
    watchIdle(session);
    const delay = delayMs ?? latency('database', session.end.from);
    session.end.send(Buffer.concat(frames.map(encodeFrame)), summaryOf(frames), delay);
  }

  function giveBack(session: Session): void {
    if (session.real === null || session.isInTransaction || session.isBound) return;
    server.giveBack(session.real);
    session.real = null;
  }

  /** The server ends sessions that are silent for too long. */
  function watchIdle(session: Session): void {
    const { idleTransactionMs, idleSessionMs } = session.limits;
    const ms = session.isInTransaction ? idleTransactionMs : idleSessionMs;
    session.stopIdle();
    if (ms <= 0) return;
    const [code, text] = session.isInTransaction
      ? ['25P03', 'terminating connection due to idle-in-transaction timeout']
      : ['57P05', 'terminating connection due to idle-session timeout'];
    session.stopIdle = timers.schedule(ms, `idle ${code}`, () => dismiss(session, code, text));
  }

  async function dismiss(session: Session, code: string, text: string): Promise<void> {
    session.end.send(encodeFrame(errorFrame('FATAL', code, text)), `dismissed ${code}`, 0);
    await endSession(session, 'closed');
  }

  /** The server's answer to a transaction that lost against another one. */
  async function refuse(session: Session, trip: Trip): Promise<void> {
    if (session.isInTransaction && session.real !== null) {
      await session.real.send([queryFrame('rollback')]);
      session.real.take();
      session.isInTransaction = session.hasFailed = false;
      giveBack(session);
    }
    // A statement that the server has not parsed has no name there.
    for (const { frame } of trip.messages) if (frame.type === 'P') session.statements.delete(nameIn(frame));
    const frames = [errorFrame('ERROR', '40001', 'could not serialize access due to concurrent update'), READY_IDLE];
    session.end.send(Buffer.concat(frames.map(encodeFrame)), 'refused 40001', latency('database', session.end.from));
    await recheckBlocked();
  }

  const readNow = async <Row extends object>(sql: string): Promise<Row[]> => (await observer.query<Row>(sql)).rows;

  async function dismissAll(): Promise<void> {
    for (const session of [...sessions]) await dismiss(session, '57P01', 'terminating connection due to administrator command');
  }

  async function endSession(session: Session, label: string | null): Promise<void> {
    if (session.isOver) return;
    session.isOver = true;
    session.stopIdle();
    session.blocked?.cancelTimers.forEach((cancel) => cancel());
    session.blocked = null;
    session.requests.clear();
    sessions.delete(session);
    if (label !== null) session.end.close(label);
    const { real } = session;
    session.real = null;
    if (real !== null) {
      real.destroy();
      // The server must have released its locks before anything else runs.
      await observer.query('select pg_terminate_backend($1)', [real.pid]);
      for (;;) {
        const { rows } = await observer.query<{ alive: boolean }>('select exists (select from pg_stat_activity where pid = $1) as alive', [
          real.pid,
        ]);
        if (rows[0]?.alive !== true) break;
      }
    }
    await recheckBlocked();
  }

  /** Messages of one round trip, rewritten where they would read the server's own clock. */
  function tripOf(session: Session, frames: readonly Frame[]): Trip {
    const statements: StatementReading[] = [];
    let settings: string | null = null;
    const messages = frames.map((frame): ClientMessage => {
      const statement = statementOf(frame);
      if (statement !== null) {
        const reading = readStatement(statement.text);
        statements.push(reading);
        const sent = reading.rewritten === statement.text ? frame : withText(frame, reading.rewritten);
        if (frame.type === 'Q' && reading.setsSession) settings = reading.rewritten;
        const shared = frame.type === 'P' ? sharedStatement(sent) : null;
        if (frame.type === 'P') session.statements.set(statement.name, { reading, shared });
        return { frame: sent, shared };
      }
      if (frame.type !== 'B') return { frame, shared: null };
      const known = session.statements.get(nameIn(frame));
      if (known !== undefined && !statements.includes(known.reading)) statements.push(known.reading);
      return { frame, shared: known?.shared ?? null };
    });
    const [first] = frames;
    const kind = first?.type === '' ? 'startup' : first?.type === 'X' ? 'goodbye' : labelOf(statements);
    return {
      messages,
      statements,
      isWrite: kind === 'goodbye' || statements.some(({ isWrite }) => isWrite),
      asksTime: statements.some(({ asksTime }) => asksTime),
      limits: statements.reduce<SessionLimits>((limits, { changes }) => (changes === null ? limits : { ...limits, ...changes }), {
        ...session.limits,
        isLocal: false,
      }),
      settings,
      label: kind,
    };
  }

  function accept(end: SocketEnd): void {
    if (isDown) return end.close('down');
    const session: Session = {
      end,
      requests: scheduler.lane('database', `${end.from}>database#${end.id}`),
      statements: new Map(),
      limits: { lockMs: 0, statementMs: 0, idleTransactionMs: 0, idleSessionMs: 0, isLocal: false },
      settings: null,
      isOpen: false,
      real: null,
      isBound: false,
      isListening: false,
      isInTransaction: false,
      hasFailed: false,
      hasNotified: false,
      isOver: false,
      blocked: null,
      cancelCode: null,
      stopIdle: () => undefined,
    };
    sessions.add(session);
    const readClient = createFrameReader(true);
    let gathered: Frame[] = [];
    end.onData = (bytes) => {
      for (const frame of readClient(bytes)) {
        gathered.push(frame);
        if (!ENDS_TRIP.has(frame.type)) continue;
        const trip = tripOf(session, gathered);
        gathered = [];
        session.requests.post(latency(end.from, 'database'), trip.label, () => execute(session, trip));
      }
    };
    end.onClose = () => session.requests.post(0, 'gone', () => endSession(session, null));
  }

  /** Work on the real server is an event too: nothing else may run meanwhile. */
  const control = scheduler.lane('world', 'database/control');
  const inEvent = <Result>(label: string, work: () => Promise<Result>): Promise<Result> =>
    new Promise((resolve, reject) => control.post(0, label, () => work().then(resolve, reject)));

  return {
    accept,
    setFault: (next) => void (fault = next),
    watchStates: (watcher) => void (stateWatcher = watcher),
    readNow,
    abandon(owner, isSentDone) {
      for (const session of [...sessions]) {
        if (session.end.from !== owner) continue;
        if (!isSentDone()) session.requests.clear();
        session.requests.post(0, 'killed', () => endSession(session, null));
      }
    },
    terminate: (owner, choose) =>
      inEvent('terminate', async () => {
        const own = [...sessions].filter((session) => session.end.from === owner && session.isOpen);
        const session = own[choose(own.length)];
        if (session === undefined) return false;
        await dismiss(session, '57P01', 'terminating connection due to administrator command');
        return true;
      }),
    read: <Row extends object>(sql: string, values: readonly unknown[] = []) =>
      inEvent('read', async () => (await observer.query<Row>(sql, [...values])).rows),
    setDown: (next) =>
      inEvent(next ? 'down' : 'up', async () => {
        isDown = next;
        if (next) await dismissAll();
      }),
    alone: ({ work, look }) =>
      inEvent('alone', async () => {
        await dismissAll();
        const before = await look(readNow);
        server.close();
        server = openSessions();
        await observer.end();
        await work(database);
        observer = await openObserver();
        clockSet = -1;
        return { before, after: await look(readNow) };
      }),
    connections: (owner) => [...sessions].filter((session) => session.end.from === owner).length,
    async close() {
      for (const session of sessions) session.isOver = true;
      sessions.clear();
      server.close();
      await observer.end();
    },
  };
}

const isDoneWithin = (done: Promise<void>, ms: number): Promise<boolean> =>
  new Promise((resolve) => {
    const timer = realSetTimeout(() => resolve(false), ms);
    void done.then(() => {
      realClearTimeout(timer);
      resolve(true);
    });
  });

/** Startup, password, query, sync, goodbye. */
const ENDS_TRIP: ReadonlySet<string> = new Set(['', 'p', 'Q', 'S', 'X']);

/** What an answer says, without values that differ from run to run. */
function summaryOf(frames: readonly Frame[]): string {
  const parts = frames.flatMap((frame) => {
    if (frame.type === 'C') return [commandTag(frame)];
    if (frame.type === 'E') return [`error ${errorCode(frame)}`];
    return frame.type === 'A' ? ['notification'] : [];
  });
  return parts.join(',') || 'ready';
}
