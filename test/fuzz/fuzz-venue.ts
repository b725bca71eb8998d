import type pg from 'pg';
import { venueDatabase } from '../harness/venue/venue-database.js';
import { startOwnVenue } from '../harness/venue/own-venue.js';
import { createActors } from './actors.js';
import { createDelivery, type Delivery } from './deliver.js';
import { createMaterials, type Materials } from './materials.js';
import { measure, type Measure } from './measures.js';
import { createWatch, type Watch } from './watch.js';

/** A venue of its own, in this process, and everything inputs need to reach it. */
export interface FuzzVenue {
  readonly materials: Materials;
  readonly delivery: Delivery;
  readonly watch: Watch;
  measure(): Promise<Measure>;
  stop(): Promise<void>;
}

const OPERATOR_TOKEN = 'fuzz-operator-token-0123456789';

/**
 * Limits per address stay as they are by default: inputs come from many addresses. Signed inputs come from few agents, so the agents' limits
 * are raised. Answers are held back only shortly, so that a chunk of inputs does not wait for its last order.
 */
const SETTINGS = {
  OPERATOR_TOKEN,
  TRUSTED_PROXIES: '127.0.0.1',
  RATE_LIMIT_IP: '600',
  RATE_LIMIT_AGENT: '100000000',
  RATE_LIMIT_AGENT_WRITES: '100000000',
  FACADE_HOLD_MS: '50',
};

export async function openFuzzVenue(): Promise<FuzzVenue> {
  const watch = createWatch();
  const sandbox = await startOwnVenue(SETTINGS, watch.log).catch((error: unknown) => {
    watch.stop();
    throw error;
  });
  let database: pg.Client | null = null;
  let delivery: Delivery | null = null;
  const stop = async (): Promise<void> => {
    delivery?.close();
    await database?.end();
    await sandbox.stop();
    watch.stop();
  };
  try {
    const actors = await createActors(sandbox);
    const { slug } = actors.chain;
    const client = (database = await venueDatabase(sandbox));
    delivery = createDelivery({ port: Number(new URL(sandbox.url).port), actors, watch });
    return {
      materials: createMaterials({ addresses: actors.addresses, slug, operatorToken: OPERATOR_TOKEN }),
      delivery,
      watch,
      measure: () => measure({ url: sandbox.url, operatorToken: OPERATOR_TOKEN, database: client }),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
