import type { Knex } from 'knex';

/** Everything that makes two schemas the same or not, in words that can be compared. */
export async function schemaOf(db: Knex): Promise<readonly string[]> {
  const { rows } = await db.raw<{ rows: { line: string }[] }>(SCHEMA);
  return rows.map(({ line }) => line);
}

const SCHEMA = `
  select concat_ws(' ', 'column', table_name, ordinal_position, column_name, data_type, numeric_precision, is_nullable, column_default, is_identity) as line
  from information_schema.columns where table_schema = 'public'
  union all select concat_ws(' ', 'index', indexdef) from pg_indexes where schemaname = 'public'
  union all select concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint
    where connamespace = 'public'::regnamespace
  union all select concat_ws(' ', 'trigger', pg_get_triggerdef(trigger.oid)) from pg_trigger trigger
    join pg_class on pg_class.oid = tgrelid where relnamespace = 'public'::regnamespace and not tgisinternal
  union all select concat_ws(' ', 'function', pg_get_functiondef(oid)) from pg_proc where pronamespace = 'public'::regnamespace
  union all select concat_ws(' ', 'options', relname, reloptions) from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'S')
  union all select concat_ws(' ', 'sequence', sequencename, data_type, min_value, max_value, cycle) from pg_sequences where schemaname = 'public'
  order by line`;

export type Row = Readonly<Record<string, unknown>>;

/** Every row of every table, as the database itself writes it down. */
export async function contentsOf(db: Knex): Promise<ReadonlyMap<string, readonly Row[]>> {
  const tables = await tablesOf(db);
  const each = tables.map((table) => `select '${table}' as name, jsonb_agg(to_jsonb(given)) as rows from ${table} given`);
  const { rows } = await db.raw<{ rows: { name: string; rows: readonly Row[] | null }[] }>(each.join(' union all ') || NOTHING);
  return new Map(rows.map(({ name, rows: found }) => [name, found ?? []]));
}

const NOTHING = 'select null where false';

/** Tables that others refer to come before them. */
async function tablesOf(db: Knex): Promise<string[]> {
  const { rows } = await db.raw<{ rows: { name: string; needs: string[] }[] }>(`
    select relname as name, array(
      select confrelid::regclass::text from pg_constraint where conrelid = pg_class.oid and contype = 'f') as needs
    from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'migrations' order by relname`);
  const ordered: string[] = [];
  while (ordered.length < rows.length) {
    const next = rows.find(({ name, needs }) => !ordered.includes(name) && needs.every((other) => ordered.includes(other)));
    if (!next) throw new Error('tables refer to each other in a circle');
    ordered.push(next.name);
  }
  return ordered;
}

interface Column {
  readonly name: string;
  readonly type: string;
  /** What a check lets it be, where it says so. */
  readonly words: readonly string[];
  readonly refersTo: string | null;
}

/** What statements, triggers and indexes of ours read out of a value; all else may be anything of its type. */
const MEANINGS: Readonly<Record<string, (n: number) => unknown>> = {
  'orders.state': (n) => ({ createdAt: n, action: 'open' }),
  'chain_events.event': (n) => ({ place: { at: n } }),
  'relay_actions.envelope': () => '{"action":{"type":"order"}}',
  'relay_jobs.mined': (n) => ({ costWei: { $n: String(21_000 + n) }, blockHash: '0x' }),
  'relay_jobs.purpose': () => 'action',
  'pending_closing_slippages.trade_index': () => null,
  'asset_units.sz_decimals': (n) => n % 6,
  'asset_units.multiplier': () => 1000,
};

const VALUES: Readonly<Record<string, (label: string, n: number) => unknown>> = {
  text: (label) => label,
  bigint: (_label, n) => n,
  integer: (_label, n) => n,
  numeric: (_label, n) => n,
  boolean: () => true,
  jsonb: (label) => ({ label }),
  'text[]': (label) => [label],
  'bigint[]': (_label, n) => [n],
};

/** A row more in every table: each column that has a value of its own has one, within what the checks allow. */
export async function addRows(db: Knex, n: number): Promise<void> {
  const columnsOf = await allColumns(db);
  for (const table of await tablesOf(db)) {
    const columns = columnsOf.get(table) ?? [];
    const values = await Promise.all(columns.map((column) => valueOf(db, table, column, n)));
    const places = columns.map(({ type }) => `cast(? as ${type})`).join(', ');
    await db.raw(
      `insert into ${table} (${columns.map(({ name }) => name).join(', ')}) values (${places}) on conflict do nothing`,
      values as string[],
    );
  }
}

async function valueOf(db: Knex, table: string, { name, type, words, refersTo }: Column, n: number): Promise<unknown> {
  const meaning = MEANINGS[`${table}.${name}`];
  if (meaning) return plain(meaning(n), type);
  if (refersTo !== null)
    return db(refersTo)
      .max<{ max: unknown }>('id')
      .first()
      .then((row) => String(row?.max));
  if (words.length > 0) return words[n % words.length];
  const make = VALUES[type.replace(/\(.*\)/, '')];
  if (!make) throw new Error(`no value is known for ${table}.${name}, which is ${type}`);
  return plain(make(`${name} ${n}`, n), type);
}

const plain = (value: unknown, type: string): unknown => (type === 'jsonb' && value !== null ? JSON.stringify(value) : value);

/** Those that the database does not number or stamp itself, by table. */
async function allColumns(db: Knex): Promise<ReadonlyMap<string, readonly Column[]>> {
  const { rows } = await db.raw<{ rows: (Omit<Column, 'words'> & { table: string; checks: string | null })[] }>(
    `select relname as table, attname as name, format_type(atttypid, atttypmod) as type,
       (select string_agg(pg_get_constraintdef(oid), ' ') from pg_constraint where conrelid = attrelid and contype = 'c' and conkey = array[attnum]) as checks,
       (select confrelid::regclass::text from pg_constraint where conrelid = attrelid and contype = 'f' and conkey = array[attnum]) as "refersTo"
     from pg_attribute join pg_class on pg_class.oid = attrelid left join pg_attrdef on adrelid = attrelid and adnum = attnum
     where relnamespace = 'public'::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped and attidentity = ''
     and format_type(atttypid, atttypmod) not in ('xid8', 'uuid') and coalesce(pg_get_expr(adbin, adrelid), '') not like 'nextval%' order by attnum`,
  );
  const found = new Map<string, Column[]>();
  for (const { table, checks, ...column } of rows) {
    const words = [...(checks ?? '').matchAll(/'([^']+)'::text/g)].map(([, word]) => word ?? '');
    found.set(table, [...(found.get(table) ?? []), { ...column, words }]);
  }
  return found;
}
