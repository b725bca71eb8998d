'use strict';
const { appendFileSync } = require('node:fs');
const path = require('node:path');

const SHOWN = 10;
const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`.padStart(8);

/**
 * Prints which tests were skipped, and the files that took most processor time. The time of a file is that of its worker and of the
 * processes that it started and ended; the shared database server is not in it.
 */
module.exports = class DearestFiles {
  #rootDir;
  #files = [];
  #skipped = [];

  constructor({ rootDir }) {
    this.#rootDir = rootDir;
  }

  onTestResult(test, { processorMs = 0, perfStats, testResults = [] }) {
    const file = path.relative(this.#rootDir, test.path);
    for (const { status, fullName } of testResults) if (status === 'pending') this.#skipped.push(`${file}: ${fullName}`);
    this.#files.push({ file, processorMs, wallMs: perfStats.end - perfStats.start });
    if (process.env.TEST_COSTS_FILE) appendFileSync(process.env.TEST_COSTS_FILE, `${JSON.stringify(this.#files.at(-1))}\n`);
  }

  onRunComplete() {
    if (this.#files.length < SHOWN) return;
    if (this.#skipped.length > 0) console.log(`\nSkipped:\n  ${this.#skipped.join('\n  ')}`);
    const dearest = this.#files.toSorted((a, b) => b.processorMs - a.processorMs).slice(0, SHOWN);
    const total = this.#files.reduce((sum, { processorMs }) => sum + processorMs, 0);
    console.log(`\nProcessor time of ${this.#files.length} test files:${seconds(total)}. The dearest:`);
    for (const { file, processorMs, wallMs } of dearest) console.log(`${seconds(processorMs)}  (by the clock${seconds(wallMs)})  ${file}`);
  }
};
