import { readConfig, ConfigError } from '../../core/config/config.js';

const CHAIN = { RPC_URL_BASE: 'https://rpc.example' };
const SERVER = 'postgres://user:very-secret@db.example/gateway';
const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const FILES: Readonly<Record<string, string>> = { '/ca.pem': PEM, '/empty.pem': 'nothing' };

function readText(path: string): string {
  const text = FILES[path];
  if (text === undefined) throw new Error('no such file');
  return text;
}

const read = (variables: Record<string, string>) => readConfig({ ...CHAIN, DATABASE_URL: SERVER, ...variables }, readText).database;

function problems(variables: Record<string, string>): readonly string[] {
  try {
    read(variables);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.message).not.toContain('very-secret');
    return error.problems;
  }
}

describe('the settings of the database', () => {
  it('have limits, and a pool that grows with what writes', () => {
    expect(read({})).toMatchObject({ kind: 'server', poolSize: 10, limits: { statementMs: 10_000, lockMs: 5_000 } });
    expect(read({ RPC_URL_ARBITRUM: 'https://rpc.example', RELAYER_KEY_BASE: `0x${'12'.repeat(32)}` })).toMatchObject({ poolSize: 13 });
    expect(read({ DATABASE_POOL: '40' })).toMatchObject({ poolSize: 40 });
    expect(
      read({ DATABASE_CONNECT_MS: '9000', DATABASE_STATEMENT_MS: '2000', DATABASE_LOCK_MS: '1000', DATABASE_IDLE_TRANSACTION_MS: '3000' }),
    ).toMatchObject({
      limits: { connectMs: 9_000, statementMs: 2_000, lockMs: 1_000, idleTransactionMs: 3_000 },
    });
  });

  it('take certificates from a file', () => {
    expect(read({ DATABASE_CA_FILE: '/ca.pem' })).toMatchObject({ ca: PEM });
  });

  it.each([
    [{ DATABASE_CA_FILE: '/none.pem' }, 'DATABASE_CA_FILE cannot be read'],
    [{ DATABASE_CA_FILE: '/empty.pem' }, 'DATABASE_CA_FILE holds no certificate in PEM format'],
    [{ DATABASE_CA_FILE: '/ca.pem', DATABASE_URL: 'embedded:data' }, 'DATABASE_CA_FILE is for a server, but DATABASE_URL is embedded'],
    [
      { DATABASE_CA_FILE: '/ca.pem', DATABASE_URL: `${SERVER}?sslmode=disable` },
      'DATABASE_CA_FILE is set, but sslmode=disable in DATABASE_URL checks no certificate',
    ],
    [
      { DATABASE_URL: `${SERVER}?sslmode=allow` },
      'DATABASE_URL has an sslmode that is none of verify-full, verify-ca, require, prefer, no-verify, disable',
    ],
    [{ DATABASE_URL: 'postgres://user:very-secret@db.example:port/x' }, 'DATABASE_URL must be a postgres:// URL, or embedded:<folder>'],
    [{ DATABASE_LOCK_MS: '20000' }, 'DATABASE_LOCK_MS must be at most DATABASE_STATEMENT_MS: a statement that waits for a lock is running'],
    [{ DATABASE_STATEMENT_MS: '5' }, 'DATABASE_STATEMENT_MS must be at least 100'],
    [
      { DATABASE_POOL: '60', DATABASE_URL: 'embedded:data' },
      'DATABASE_POOL must be at most 50 with an embedded database; 60 are wanted for these chains',
    ],
  ])('are refused with what is wrong: %p', (variables, problem) => {
    expect(problems(variables as Record<string, string>)).toEqual([problem]);
  });

  it('may name a socket of this machine', () => {
    expect(read({ DATABASE_URL: 'postgres://user@/gateway?host=/var/run/postgresql' })).toMatchObject({ kind: 'server' });
  });
});
