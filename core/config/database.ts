import { z } from 'zod';

export interface DatabaseLimits {
  /** A new connection that takes longer is given up. */
  readonly connectMs?: number;
  /** The server ends a statement that runs longer. */
  readonly statementMs: number;
  /** A wait for a row or table lock. */
  readonly lockMs: number;
  /** An idle transaction, whose locks would block others. */
  readonly idleTransactionMs: number;
}

export type DatabaseConfig =
  /** `ca`: CA certificates (PEM) for the server; absent: those of this system. */
  (
    | { readonly kind: 'server'; readonly url: string; readonly ca?: string }
    /** `durable: false` skips syncing to disk, for data that may be lost in a power cut. */
    | { readonly kind: 'embedded'; readonly folder: string; readonly durable?: boolean }
  ) & { readonly poolSize?: number; readonly limits?: DatabaseLimits };

export const DEFAULT_LIMITS = {
  connectMs: 3_000,
  statementMs: 10_000,
  lockMs: 5_000,
  idleTransactionMs: 5_000,
} as const satisfies DatabaseLimits;

/** As the driver interprets them: every mode but the last two verifies the server's certificate and name. */
const SSL_MODES = ['verify-full', 'verify-ca', 'require', 'prefer', 'no-verify', 'disable'] as const;
const URL_WORDS = 'must be a postgres:// URL, or embedded:<folder>';
const PASSWORD_WORDS = 'has a user or a password with a sign that must be percent-encoded, such as / ? # or @';

export const DatabaseUrl = z
  .string(URL_WORDS)
  .regex(/^(?:postgres(?:ql)?:\/\/.+|embedded:.+)$/, URL_WORDS)
  .refine((text) => text.startsWith('embedded:') || !hasLostPassword(text), { error: PASSWORD_WORDS, abort: true })
  .refine((text) => text.startsWith('embedded:') || isReadable(text), { error: URL_WORDS, abort: true })
  .refine((text) => SSL_MODES.some((mode) => mode === (sslModeOf(text) ?? mode)), `has an sslmode that is none of ${SSL_MODES.join(', ')}`)
  .transform((text): DatabaseConfig =>
    text.startsWith('embedded:') ? { kind: 'embedded', folder: text.slice('embedded:'.length) } : { kind: 'server', url: text },
  );

/** An unescaped sign ends the host early: a part of the password would become the host, and be shown. */
const hasLostPassword = (url: string): boolean => /^[^/]*\/\/[^/?#]*(?:[/#][^?]*|\?[^=]*)@/.test(url);

/** A URL for a local socket has no host between `@` and `/`. */
const isReadable = (url: string): boolean => URL.canParse(url.replace('@/', '@socket/'));

export const sslModeOf = (url: string): string | null => /[?&]sslmode=([^&]*)/.exec(url)?.[1] ?? null;

const Milliseconds = z.coerce
  .number('must be a number')
  .int('must be a whole number')
  .min(100, 'must be at least 100')
  .max(600_000, 'must be at most 600000');

/** The same for production and sandbox. */
const POOL_VARIABLES = {
  DATABASE_POOL: z.coerce
    .number('must be a number')
    .int('must be a whole number')
    .min(2, 'must be at least 2')
    .max(500, 'must be at most 500')
    .optional(),
};

/** The same for production and sandbox. */
export const DATABASE_VARIABLES = {
  ...POOL_VARIABLES,
  DATABASE_CA_FILE: z.string().optional(),
  DATABASE_CONNECT_MS: Milliseconds.default(DEFAULT_LIMITS.connectMs),
  DATABASE_STATEMENT_MS: Milliseconds.default(DEFAULT_LIMITS.statementMs),
  DATABASE_LOCK_MS: Milliseconds.default(DEFAULT_LIMITS.lockMs),
  DATABASE_IDLE_TRANSACTION_MS: Milliseconds.default(DEFAULT_LIMITS.idleTransactionMs),
};

/** The text of a file, or a throw. */
type ReadText = (path: string) => string;

type Read = z.output<z.ZodObject<typeof DATABASE_VARIABLES>> & { readonly DATABASE_URL: DatabaseConfig };

export interface DatabaseSource {
  readonly holders: Writers;
  readonly readText: ReadText;
  /** Problems are appended here. */
  readonly problems: string[];
}

export function databaseSettings(read: Read, { holders, readText, problems }: DatabaseSource): DatabaseConfig {
  const { DATABASE_URL: database } = read;
  const poolSize = poolSizeFor(read.DATABASE_POOL, holders);
  if (database.kind === 'embedded' && poolSize > MOST_EMBEDDED)
    problems.push(`DATABASE_POOL must be at most ${MOST_EMBEDDED} with an embedded database; ${poolSize} are wanted for these chains`);
  if (read.DATABASE_LOCK_MS > read.DATABASE_STATEMENT_MS)
    problems.push('DATABASE_LOCK_MS must be at most DATABASE_STATEMENT_MS: a statement that waits for a lock is running');
  return { ...database, ...readCertificate(read, readText, problems), poolSize, limits: databaseLimits(read) };
}

export const databaseLimits = (read: Omit<Read, 'DATABASE_URL'>): DatabaseLimits => ({
  connectMs: read.DATABASE_CONNECT_MS,
  statementMs: read.DATABASE_STATEMENT_MS,
  lockMs: read.DATABASE_LOCK_MS,
  idleTransactionMs: read.DATABASE_IDLE_TRANSACTION_MS,
});

function readCertificate(
  { DATABASE_URL: database, DATABASE_CA_FILE: path }: Read,
  readText: ReadText,
  problems: string[],
): { ca?: string } {
  if (path === undefined) return {};
  if (database.kind === 'embedded') {
    problems.push('DATABASE_CA_FILE is for a server, but DATABASE_URL is embedded');
    return {};
  }
  const mode = sslModeOf(database.url);
  if (mode === 'disable' || mode === 'no-verify')
    problems.push(`DATABASE_CA_FILE is set, but sslmode=${mode} in DATABASE_URL checks no certificate`);
  try {
    const ca = readText(path);
    if (/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.test(ca)) return { ca };
    problems.push('DATABASE_CA_FILE holds no certificate in PEM format');
  } catch {
    problems.push('DATABASE_CA_FILE cannot be read');
  }
  return {};
}

/** Indexed chains, and wallets that send on them. */
interface Writers {
  readonly chains: number;
  readonly wallets: number;
}

/** Shared by requests; the indexer of each chain and the lane of each wallet need connections in addition. */
const FOR_REQUESTS = 8;
const FOR_A_CHAIN = 2;

export const poolSizeFor = (given: number | undefined, { chains, wallets }: Writers): number =>
  given ?? FOR_REQUESTS + FOR_A_CHAIN * chains + wallets;

/** Connections of a gateway outside its pool: for the journal, and for its leases. */
export const BESIDE_THE_POOL = 2;

/** The embedded server's limit, minus connections outside the pool, migrations and manual sessions. */
const MOST_EMBEDDED = 50;
