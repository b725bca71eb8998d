'use strict';
const asyncHooks = require('node:async_hooks');
const { pathToFileURL } = require('node:url');
const { default: Runtime } = require('jest-runtime');

/**
 * Jest gives every test file a world of its own, in which all modules are read, linked and warmed up anew: two seconds for each file of
 * this project, and the product runs cold for most of it. Here a worker's modules are those of Node itself, shared by the files it runs.
 * Jest's framework stays what it is, with a new instance for each file.
 */
module.exports = class SharedRuntime extends Runtime {
  unstable_shouldLoadAsEsm() {
    return true;
  }

  unstable_importModule(path) {
    return import(pathToFileURL(path).href);
  }

  requireInternalModule(path) {
    delete globalThis[Symbol.for('EVENT_HANDLERS')];
    delete require.cache[path];
    module.children.length = 0; // or every instance is kept
    const { AsyncLocalStorage } = asyncHooks;
    asyncHooks.AsyncLocalStorage = CurrentTest;
    try {
      return require(path);
    } finally {
      asyncHooks.AsyncLocalStorage = AsyncLocalStorage;
    }
  }
};

/**
 * Jest's framework follows the test that runs through every promise, so that it knows which of several concurrent tests runs. Node then
 * has to carry one more store from promise to promise for each file that a worker has run. Tests of a file run one after the other here,
 * so the one that runs is a variable.
 */
class CurrentTest {
  #store;

  getStore() {
    return this.#store;
  }

  async run(store, work) {
    const before = this.#store;
    this.#store = store;
    try {
      return await work();
    } finally {
      this.#store = before;
    }
  }
}
