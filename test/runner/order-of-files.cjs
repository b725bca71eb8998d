'use strict';
const { readFileSync } = require('node:fs');
const { default: Sequencer } = require('@jest/test-sequencer');

/** Takes longer than any other file, mostly in a process of its own. */
const LONGEST = /\/simulation\/simulate\.test\.ts$/;
const SHARES_A_VENUE = /harness\/venue\/(?:shared|trading)-venue\.js/;
const STARTS_SOMETHING = /harness\/(?:venue|process|relayer)\//;

/**
 * The longest file first, so that it does not run alone at the end. Then the files that share a venue, so that it need not live longer than it
 * is used; then those that start something of their own, and at last the quick ones. Within each kind the order is jest's own.
 */
module.exports = class OrderOfFiles extends Sequencer {
  sort(tests) {
    const kinds = new Map(tests.map((test) => [test, kindOf(test.path)]));
    return [...super.sort(tests)].sort((a, b) => kinds.get(a) - kinds.get(b));
  }
};

function kindOf(file) {
  if (LONGEST.test(file)) return 0;
  const source = readFileSync(file, 'utf8');
  if (SHARES_A_VENUE.test(source)) return 1;
  return STARTS_SOMETHING.test(source) ? 2 : 3;
}
