import { createLogger } from '../core/adapters/telemetry/log.js';
import { loadCrypto } from '../core/adapters/crypto/load-crypto.js';
import { packMessage, type Packable } from '../facade/signing/l1-signature.js';
import { readOrderedJson } from '../facade/signing/ordered-json.js';
import { packByHand } from '../test/harness/hyperliquid/message-packer.js';
import { order, orderAction } from '../test/harness/hyperliquid/exchange.js';
import { median } from './median.js';
import { microseconds } from './take-turns.js';

/** What packing and hashing an action costs with @msgpack/msgpack, against the packer by hand that it is tested with. */
const ROUNDS = 21;
const TURNS = 2_000;

const { keccak } = await loadCrypto(createLogger('silent'));

const cloid = (index: number): string => `0x${index.toString(16).padStart(32, '0')}`;
const orders = (count: number): Packable =>
  readOrderedJson(
    Buffer.from(JSON.stringify(orderAction(...Array.from({ length: count }, (_, index) => order({ a: 150 + index, c: cloid(index) }))))),
  );
const ACTIONS: Readonly<Record<string, Packable>> = {
  'one order': orders(1),
  'twenty orders': orders(20),
  'a cancel': readOrderedJson(Buffer.from('{"type":"cancel","cancels":[{"a":3,"o":91490942512}]}')),
};

function timeHash(pack: (message: Packable) => Uint8Array, action: Packable): number {
  const before = process.cpuUsage();
  for (let turn = 0; turn < TURNS; turn += 1) keccak(pack(action));
  return microseconds(process.cpuUsage(before)) / TURNS;
}

for (const [name, action] of Object.entries(ACTIONS)) {
  const rounds = Array.from({ length: ROUNDS }, () => ({ library: timeHash(packMessage, action), byHand: timeHash(packByHand, action) }));
  const [library, byHand] = [median(rounds.map((round) => round.library)), median(rounds.map((round) => round.byHand))];
  const ratio = median(rounds.map((round) => round.library / round.byHand));
  console.log(`${name.padEnd(14)} @msgpack/msgpack ${library.toFixed(2)} us  by hand ${byHand.toFixed(2)} us  ratio ${ratio.toFixed(2)}`);
}
