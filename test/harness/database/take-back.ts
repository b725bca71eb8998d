import pg from 'pg';

/** A database that can be taken back to an earlier moment, as when a standby takes over that has only what was committed before. */
export interface TakeBack {
  /** Cuts every connection, and keeps what is committed so far. */
  copy(): Promise<void>;
  /** Cuts every connection; from now on only what was kept is there. */
  goBack(): Promise<void>;
  cut(): Promise<void>;
}

export function takeBack(url: string): TakeBack {
  const name = new URL(url).pathname.slice(1);
  const cutAll = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`;
  const close = [`alter database ${name} allow_connections false`, cutAll];

  async function administer(...statements: readonly string[]): Promise<void> {
    const { href } = Object.assign(new URL(url), { pathname: '/postgres' });
    const client = new pg.Client(href);
    await client.connect();
    try {
      for (const statement of statements) await client.query(statement);
    } finally {
      await client.end();
    }
  }

  return {
    cut: () => administer(cutAll),
    copy: () =>
      administer(
        ...close,
        `create database ${name}_copy template ${name} strategy file_copy`,
        `alter database ${name} allow_connections true`,
      ),
    goBack: () => administer(...close, `drop database ${name} with (force)`, `alter database ${name}_copy rename to ${name}`),
  };
}
