import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../core/adapters/postgres/embedded/start-embedded-postgres.js';
import { migrate } from '../../core/adapters/postgres/migrate.js';
import { systemClock } from '../../core/adapters/system/clock.js';
import type { Logger } from '../../core/ports/log.js';
import { findPackage } from '../../sandbox/data-folder.js';
import { makeDataFolder } from '../harness/database/temporary-folder.js';

/** A real server for the simulation alone: the physical order of rows must follow from the run, so nothing works in its background. */
export interface SimulationServer {
  readonly port: number;
  readonly role: string;
  readonly processId: number | null;
  /** A fresh copy of the migrated template; it replaces the one of the run before. */
  createDatabase(): Promise<string>;
  /** Keeps this database as it is now. Like the next two, it ends what is left of the sessions of its database. */
  copy(name: string): Promise<void>;
  /** What was kept takes its place; what it was until now has the returned name. */
  goBack(name: string): Promise<string>;
  /** An empty database takes its place. */
  empty(name: string): Promise<string>;
  stop(): Promise<void>;
}

/** A new cluster is copied from there; the sandbox keeps it too. */
const PATTERNS = path.join(findPackage(), 'node_modules/.cache/diamond-gateway');
const TEMPLATE = 'simulation_template';
/** As the template, but made another time. */
const EMPTY = 'simulation_empty';
const silent = (): void => undefined;
const log: Logger = { debug: silent, info: silent, warn: silent, error: (event, fields) => console.error(event, fields), child: () => log };

const SETTINGS = [
  'autovacuum = off',
  `deadlock_timeout = '10min'`,
  // Every run has new connections, and their tables have few rows: planning would take longer than any plan.
  'plan_cache_mode = force_generic_plan',
  'track_counts = off',
  'update_process_title = off',
];

export async function startSimulationServer(): Promise<SimulationServer> {
  const folder = await makeDataFolder('diamond-gateway-simulation');
  const server = await startEmbeddedPostgres({ folder, log, clock: systemClock, durable: false, patterns: PATTERNS });
  const url = new URL(server.url);
  const role = decodeURIComponent(url.username);
  const admin = new pg.Client(server.url);
  await admin.connect();
  await trustLocalConnections(server.dataFolder);
  for (const setting of SETTINGS) await admin.query(`alter system set ${setting}`);
  await admin.query('select pg_reload_conf()');
  // A copied cluster has no templates of its own.
  await admin.query(`create database ${TEMPLATE} template postgres`);
  url.pathname = `/${TEMPLATE}`;
  await migrate({ url: url.href, log });
  await replaceServerClock(url.href);
  await admin.query(`create database ${EMPTY} template ${TEMPLATE}`);
  await renameInstance(new URL(`/${EMPTY}`, url).href);
  let made = 0;
  /** All that take the place of the one of the run. */
  let derived: string[] = [];
  const nameOf = (turn: number): string => `simulation_${turn}`;
  const copyOf = (name: string): string => `${name}_copy`;
  const drop = (name: string): Promise<unknown> => admin.query(`drop database if exists ${name} with (force)`);
  const create = (name: string, template: string): Promise<unknown> =>
    admin.query(`create database ${name} template ${template} strategy file_copy`);

  async function endSessions(name: string): Promise<void> {
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
    for (;;) {
      const { rows } = await admin.query('select 1 from pg_stat_activity where datname = $1', [name]);
      if (rows.length === 0) return;
    }
  }

  async function setAside(name: string): Promise<string> {
    await endSessions(name);
    const aside = `${name}_before_${derived.length}`;
    derived.push(aside);
    await admin.query(`alter database ${name} rename to ${aside}`);
    return aside;
  }

  return {
    port: server.port,
    role,
    processId: await postmaster(server.dataFolder),
    async createDatabase() {
      for (const name of made > 0 ? [nameOf(made), copyOf(nameOf(made)), ...derived] : []) await drop(name);
      derived = [];
      made += 1;
      await create(nameOf(made), TEMPLATE);
      return nameOf(made);
    },
    async copy(name) {
      await endSessions(name);
      await drop(copyOf(name));
      await create(copyOf(name), name);
    },
    async goBack(name) {
      const before = await setAside(name);
      await admin.query(`alter database ${copyOf(name)} rename to ${name}`);
      return before;
    },
    async empty(name) {
      const before = await setAside(name);
      await create(name, EMPTY);
      return before;
    },
    async stop() {
      await admin.end();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The first line of the lock file of a running server. */
async function postmaster(dataFolder: string): Promise<number | null> {
  const id = Number((await readFile(path.join(dataFolder, 'postmaster.pid'), 'utf8')).split('\n', 1)[0]);
  return Number.isInteger(id) ? id : null;
}

/** Passwords are hashed on threads, which would end at any moment. */
async function trustLocalConnections(dataFolder: string): Promise<void> {
  const file = path.join(dataFolder, 'pg_hba.conf');
  const rules = await readFile(file, 'utf8');
  await writeFile(file, 'host all all 127.0.0.1/32 trust\n');
  await appendFile(file, rules);
}

const CLOCK = `
  -- Not in the schema of the product, which moves every sequence of its own after lost commits.
  create schema simulation;
  create sequence simulation.simulated_ms as bigint;
  create function simulated_now() returns timestamptz language sql volatile
    as $$ select to_timestamp((select last_value from simulation.simulated_ms) / 1000.0) $$;`;

/** Rows are only added: an update would make transactions wait for each other that do not without it. */
const TRANSITIONS = `
  create table seen_transitions (
    seq bigint generated always as identity, subject text not null, id bigint not null, before text, after text not null);
  create function note_job() returns trigger language plpgsql as $$ begin
    insert into seen_transitions (subject, id, before, after) values ('job', new.id, case when tg_op = 'UPDATE' then old.state end, new.state);
    return null; end $$;
  create trigger note_new_job after insert on relay_jobs for each row execute function note_job();
  create trigger note_job after update of state on relay_jobs for each row when (old.state is distinct from new.state) execute function note_job();
  create function note_journal() returns trigger language plpgsql as $$ begin
    insert into seen_transitions (subject, id, after) values ('journal', old.cursor, tg_op);
    return null; end $$;
  create trigger note_journal after update or delete on journal for each row execute function note_journal();`;

const DEFAULTS = `
  select format('alter table %I alter column %I set default %s', relation.relname, attribute.attname,
    replace(pg_get_expr(own.adbin, own.adrelid), 'clock_timestamp()', 'simulated_now()')) as change
  from pg_attrdef own join pg_class relation on relation.oid = own.adrelid
  join pg_attribute attribute on attribute.attrelid = own.adrelid and attribute.attnum = own.adnum
  where pg_get_expr(own.adbin, own.adrelid) like '%clock_timestamp()%'`;

const FUNCTIONS = `
  select replace(pg_get_functiondef(oid), 'clock_timestamp()', 'simulated_now()') as change from pg_proc
  where pronamespace = 'public'::regnamespace and prosrc like '%clock_timestamp()%'`;

/** The id that tells databases with equal contents apart. */
async function renameInstance(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query('update deployment set instance_id = gen_random_uuid()');
  await client.end();
}

/** Columns, triggers and functions that read the server's clock read the simulation's. */
async function replaceServerClock(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(CLOCK);
  await client.query(TRANSITIONS);
  for (const catalogue of [DEFAULTS, FUNCTIONS]) {
    const { rows } = await client.query<{ change: string }>(catalogue);
    for (const { change } of rows) await client.query(change);
  }
  await client.end();
}
