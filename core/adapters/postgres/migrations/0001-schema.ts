import { ACCESS } from './schema/access.js';
import { EXCHANGE } from './schema/exchange.js';
import { JOURNAL } from './schema/journal.js';
import { MARKETS } from './schema/markets.js';
import { OBSERVABILITY } from './schema/observability.js';
import { RELAY } from './schema/relay.js';
import { TRACKING } from './schema/tracking.js';
import { NOW_MS, type Migration } from './migration.js';

/** Identifies this database in logs. */
const DEPLOYMENT = `
  create table deployment (
    singleton boolean primary key default true check (singleton),
    instance_id uuid not null default gen_random_uuid(),
    created_at bigint not null default ${NOW_MS}
  );
  insert into deployment default values;
`;

/** The schema of the first release. A table comes after those that it refers to. */
export const schema: Migration = {
  name: '0001-schema',
  sql: [DEPLOYMENT, ACCESS, MARKETS, TRACKING, JOURNAL, RELAY, OBSERVABILITY, EXCHANGE].join(''),
};
