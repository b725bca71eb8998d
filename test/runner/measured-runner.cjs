'use strict';
const { default: circus } = require('jest-circus/runner');

/** Runs a file as jest does and adds the processor time of this worker meanwhile; `dearest-files.cjs` reads it. */
module.exports = async function measuredRunner(...run) {
  const before = process.cpuUsage();
  const result = await circus(...run);
  const { user, system } = process.cpuUsage(before);
  return { ...result, processorMs: (user + system) / 1000 };
};
