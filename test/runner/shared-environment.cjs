'use strict';
const { ModuleMocker } = require('jest-mock');

const { exit } = process;

/** The world of a test file is that of its worker, see `shared-runtime.cjs`: what a file changes in it, it puts back. */
module.exports = class SharedEnvironment {
  global = globalThis;
  moduleMocker = new ModuleMocker(globalThis);
  fakeTimers = null;
  fakeTimersModern = null;

  constructor() {
    process.exit = exit; // Jest wraps it for every file
  }

  async setup() {
    Error.prepareStackTrace = undefined; // Jest reads no source maps here, Node does
  }

  async teardown() {}

  exportConditions() {
    return ['node', 'node-addons'];
  }

  getVmContext() {
    return null;
  }
};
