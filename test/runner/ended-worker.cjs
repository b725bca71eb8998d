'use strict';
const path = require('node:path');

/** A worker of jest that says when it no longer listens to its parent. */
process.on('removeListener', (event) => {
  if (event === 'message' && process.listenerCount('message') === 0) process.send('let go');
});
require(path.join(path.dirname(require.resolve('jest-worker')), 'processChild.js'));
