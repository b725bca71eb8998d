'use strict';
const { ModuleMocker } = require('jest-mock');

const { exit } = process;
const { console, Error } = globalThis;
const { stackTraceLimit } = Error;

/** The world of a test file is that of its worker, see `shared-runtime.cjs`: what a file changes in it, it puts back. */
module.exports = class SharedEnvironment {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  fakeTimers = null;
  fakeTimersModern = null;

  async setup() {
    Error.prepareStackTrace = undefined; // Jest reads no source maps here, Node does
  }

  /** Jest wraps, replaces and adds these for every file. */
  async teardown() {
    process.exit = exit;
    globalThis.console = console;
    Error.stackTraceLimit = stackTraceLimit;
    for (const key of Object.getOwnPropertySymbols(globalThis)) if (key.description === 'JEST_STATE_SYMBOL') delete globalThis[key];
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return null;
  }
};
