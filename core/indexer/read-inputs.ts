import { BEGINNINGS } from '../domain/diamond-log.js';
import type { Venue } from '../gateway.js';
import type { LogRange } from '../ports/chain.js';
import type { Hex } from '../types.js';
import { logKey } from '../ports/stores/tracking.js';

/** Inputs of the transactions that began an order in these blocks; those that did not come with the logs are fetched. */
export async function readInputs(
  { chain }: Venue,
  { logs, inputs }: LogRange,
  known: ReadonlySet<string> = new Set(),
): Promise<ReadonlyMap<Hex, Hex>> {
  const wanted = logs.filter(({ name, place }) => BEGINNINGS.has(name) && !known.has(logKey(place))).map(({ place }) => place.txHash);
  const missing = wanted.filter((hash) => !inputs.has(hash));
  return missing.length === 0 ? inputs : new Map([...inputs, ...(await chain.inputs([...new Set(missing)]))]);
}
