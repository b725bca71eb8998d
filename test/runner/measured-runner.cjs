'use strict';
const { readFileSync } = require('node:fs');
const { takeCoverage } = require('node:v8');
const { default: circus } = require('jest-circus/runner');

/** /proc counts in clock ticks, a hundred a second on every Linux that Node supports. */
const TICK_MS = 10;

/** Runs a file as jest does and adds the processor time of this worker and of the processes it started; `dearest-files.cjs` reads it. */
module.exports = async function measuredRunner(...run) {
  const [before, childrenBefore] = [process.cpuUsage(), endedChildrenMs()];
  const result = await circus(...run);
  const { user, system } = process.cpuUsage(before);
  if (process.env.NODE_V8_COVERAGE) takeCoverage(); // a worker that is replaced writes nothing at its end
  return { ...result, processorMs: (user + system) / 1000 + endedChildrenMs() - childrenBefore };
};

/** Processor time of the processes that this one started and that have ended; 0 where there is no /proc. */
function endedChildrenMs() {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
  } catch {
    return 0;
  }
}
