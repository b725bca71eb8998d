'use strict';
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
    return require(path);
  }
};
