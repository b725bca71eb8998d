import { ACCESS } from './baseline/access.js';
import { EXCHANGE } from './baseline/exchange.js';
import { JOURNAL } from './baseline/journal.js';
import { MARKETS } from './baseline/markets.js';
import { OBSERVABILITY } from './baseline/observability.js';
import { RELAY } from './baseline/relay.js';
import { TRACKING } from './baseline/tracking.js';
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
export const baseline: Migration = {
  name: '0001-baseline',
  sql: [DEPLOYMENT, ACCESS, MARKETS, TRACKING, JOURNAL, RELAY, OBSERVABILITY, EXCHANGE].join(''),
};
