import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as Edr from '@nomicfoundation/edr';
import type { Cancel } from '../../core/types.js';
import { findPackage } from '../../sandbox/data-folder.js';
import type { Random } from '../fuzz/random.js';
import { rememberReads } from './engine-reads.js';
import { replaceNewChains } from './kept-chain.js';
import type { Lane, Scheduler } from './scheduler.js';

/**
 * Libraries take time from the process: the pool's time-outs, the driver's, the WebSocket's. For the time of a simulation these are events
 * of the scheduler too. What is left of the event loop is immediates, which are counted, and calls of the EVM engine, which are queued.
 */
export interface ProcessGlobals {
  /** Timers and the date follow this scheduler from now on, and random fractions this generator. */
  follow(scheduler: Scheduler, random: Random): void;
  /** The library that calls contracts imports a module after each revert, and modules are resolved on a thread of the loader. */
  expectImport(): void;
  /** Resolves when no immediate is pending and the engine has answered everything. */
  settle(): Promise<void>;
  restore(): void;
}

interface EngineCall {
  readonly start: () => Promise<void>;
}

type Timers = Pick<typeof globalThis, 'setTimeout' | 'clearTimeout' | 'setInterval' | 'clearInterval' | 'setImmediate' | 'clearImmediate'>;

class SimulatedTimer {
  cancel: Cancel = () => undefined;
  readonly start: (timer: SimulatedTimer) => Cancel;
  constructor(start: (timer: SimulatedTimer) => Cancel) {
    this.start = start;
    this.cancel = start(this);
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  hasRef(): boolean {
    return true;
  }
  refresh(): this {
    this.cancel();
    this.cancel = this.start(this);
    return this;
  }
  close(): this {
    this.cancel();
    return this;
  }
  [Symbol.dispose](): void {
    this.cancel();
  }
}

/** WebAssembly, which the types of Node omit. */
interface Wasm {
  compile: (bytes: unknown) => Promise<object>;
  instantiate: (source: unknown, imports?: unknown) => Promise<object>;
  readonly Module: new (bytes: unknown) => object;
  readonly Instance: new (module: object, imports?: unknown) => object;
}
const wasm = (globalThis as unknown as { readonly WebAssembly: Wasm }).WebAssembly;

const IMPORTED_AFTER_REVERT = pathToFileURL(path.join(findPackage(), 'node_modules/viem/_esm/utils/ccip.js')).href;

export const realSetImmediate = globalThis.setImmediate;
export const realSetTimeout = globalThis.setTimeout;
export const realClearTimeout = globalThis.clearTimeout;

export function takeProcessGlobals(): ProcessGlobals {
  const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate } = globalThis;
  const before: Timers = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate };
  const dateNow = Date.now;
  const mathRandom = Math.random;
  const { compile, instantiate } = wasm;
  let timers: Lane | null = null;
  const pending = new Set<NodeJS.Immediate>();
  const calls: EngineCall[] = [];
  let hasImport = false;

  const needTimers = (): Lane => {
    if (timers === null) throw new Error('a timer was set before the simulation began');
    return timers;
  };

  const replaced = {
    setTimeout: (task: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) =>
      new SimulatedTimer(() => needTimers().schedule(Math.ceil(Math.max(1, ms)), 'timeout', () => task(...given))),
    clearTimeout: (timer: unknown) => (timer instanceof SimulatedTimer ? timer.cancel() : clearTimeout(timer as never)),
    setInterval: (task: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) =>
      new SimulatedTimer((timer) =>
        needTimers().schedule(Math.ceil(Math.max(1, ms)), 'interval', () => {
          timer.cancel = timer.start(timer);
          task(...given);
        }),
      ),
    clearInterval: (timer: unknown) => (timer instanceof SimulatedTimer ? timer.cancel() : clearInterval(timer as never)),
    setImmediate(task: (...given: unknown[]) => void, ...given: unknown[]) {
      const immediate = setImmediate(() => {
        pending.delete(immediate);
        task(...given);
      });
      pending.add(immediate);
      return immediate;
    },
    clearImmediate(immediate: NodeJS.Immediate) {
      pending.delete(immediate);
      clearImmediate(immediate);
    },
  };

  const restoreEngine = queueEngineCalls(calls);
  const restorePools = replaceConnectionPools();
  return {
    follow(next, random) {
      timers = next.lane('world', 'libraries/timers');
      Object.assign(globalThis, replaced);
      Math.random = () => random.fraction();
      Date.now = () => next.epoch + next.now();
      // Compiled on threads otherwise, which would end at any moment.
      wasm.compile = (bytes) => Promise.resolve(new wasm.Module(bytes));
      wasm.instantiate = (source, imports) => {
        const isCompiled = source instanceof wasm.Module;
        const module = isCompiled ? source : new wasm.Module(source);
        const instance = new wasm.Instance(module, imports);
        return Promise.resolve(isCompiled ? instance : { module, instance });
      };
    },
    expectImport: () => void (hasImport = true),
    async settle() {
      for (;;) {
        await new Promise<void>((resolve) => realSetImmediate(resolve));
        if (pending.size > 0) continue;
        const call = calls.shift();
        if (call !== undefined) await call.start();
        else if (!hasImport) return;
        else {
          hasImport = false;
          // The loader answers in the order of the questions: after this one, those before it are answered.
          for (let turn = 0; turn < 2; turn += 1) await import(IMPORTED_AFTER_REVERT);
        }
      }
    },
    restore() {
      Object.assign(globalThis, before);
      Date.now = dateNow;
      Math.random = mathRandom;
      Object.assign(wasm, { compile, instantiate });
      restoreEngine();
      restorePools();
    },
  };
}

/** Where `fetch` keeps its dispatcher, which is no part of Node's interface: since Node 26 in the second. */
const DISPATCHERS = [Symbol.for('undici.globalDispatcher.1'), Symbol.for('undici.globalDispatcher.2')];
interface Dispatcher {
  destroy(): Promise<void>;
}
type DispatcherHolder = Partial<Record<symbol, Dispatcher & { readonly constructor: new () => Dispatcher }>>;

/** Node's HTTP clients keep connections and queues for the whole process; a run must not begin with those of the run before. */
function replaceConnectionPools(): () => void {
  const { globalAgent } = http;
  http.globalAgent = new http.Agent({ keepAlive: true });
  const holder = globalThis as unknown as DispatcherHolder;
  const restores = DISPATCHERS.map((key) => {
    const dispatcher = holder[key];
    // In Node 26 the first one only passes calls on to the second, which it is constructed with.
    if (dispatcher === undefined || dispatcher.constructor.length > 0) return () => undefined;
    Object.assign(globalThis, { [key]: new dispatcher.constructor() });
    return () => {
      void holder[key]?.destroy();
      Object.assign(globalThis, { [key]: dispatcher });
    };
  });
  return () => {
    http.globalAgent.destroy();
    http.globalAgent = globalAgent;
    for (const restore of restores) restore();
  };
}

/** The engine answers on threads of its own, in any order; here one call at a time, in the order of the questions. */
function queueEngineCalls(calls: EngineCall[]): () => void {
  const { Provider, EdrContext } = createRequire(import.meta.url)('@nomicfoundation/edr') as typeof Edr;
  const restores = [
    // Before its calls are queued: it asks the engine itself.
    replaceNewChains(EdrContext.prototype, Provider.prototype),
    rememberReads(Provider.prototype),
    queueCalls(Provider.prototype, 'handleRequest', calls),
    queueCalls(EdrContext.prototype, 'createProvider', calls),
    queueCalls(EdrContext.prototype, 'registerProviderFactory', calls),
  ];
  return () => restores.reverse().forEach((restore) => restore());
}

function queueCalls<Kind extends object>(prototype: Kind, name: keyof Kind & string, calls: EngineCall[]): () => void {
  const real = prototype[name] as (...given: unknown[]) => Promise<unknown>;
  const queued = function queued(this: Kind, ...given: unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      calls.push({ start: () => real.apply(this, given).then(resolve, reject) });
    });
  };
  Object.assign(prototype, { [name]: queued });
  return () => void Object.assign(prototype, { [name]: real });
}
