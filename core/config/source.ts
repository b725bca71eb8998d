import type { z } from 'zod';
import { StartError } from '../errors.js';
import { CHAIN_SLUGS, chainVariable } from '../chains/chains.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the text of a file, or throws. */
export type ReadText = (path: string) => string;

/** Settings and their problems. */
export interface Source {
  /** Without empty ones; the contents of a file are stored under the setting's name. */
  readonly variables: Readonly<Record<string, string>>;
  readonly readText: ReadText;
  readonly problems: string[];
  /** The setting's name for the operator: its own, or that of the variable with its file. */
  nameOf(setting: string): string;
  /** Also true where its file is invalid, which is already reported. */
  isGiven(setting: string): boolean;
  /** Warnings about it. */
  warningsOf(setting: string): readonly string[];
}

/** An amount of a chain's coin such as 0.05. It has at most 18 decimals, because `parseEther` rounds what is finer. */
export const NATIVE_AMOUNT = /^(?:0|[1-9]\d{0,9})(?:\.\d{1,18})?$/;

/** Lists all problems at once, so that an operator does not need one start per mistake. */
export class ConfigError extends StartError {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
    );
    this.problems = problems;
  }
}

/** Settings whose usual value is everything: an empty one is refused with the word for nothing. */
const REFUSED_EMPTY: ReadonlySet<string> = new Set(['PAGES']);

/** An empty variable counts as absent, because `.env` files contain many. */
export const present = (environment: Environment): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value === undefined || (value.trim() === '' && !REFUSED_EMPTY.has(name)) ? [] : [[name, value.trim()]],
    ),
  );

/** Never quotes a value, because it may be a secret. A setting with an invalid file is not reported twice. */
export function describeIssues(error: z.ZodError, source: Source): string[] {
  const isReported = (setting: string): boolean => source.isGiven(setting) && source.variables[setting] === undefined;
  const issues = error.issues.flatMap(({ path: [setting = '', ...rest], message }) =>
    isReported(String(setting)) ? [] : [`${[source.nameOf(String(setting)), ...rest].join('.')} ${message}`],
  );
  return [...new Set(issues)];
}

/** `fetch` rejects URLs with a user name or password, and its error would quote them. */
export function hasUserInfo(url: URL): boolean {
  return url.username !== '' || url.password !== '';
}

/** Settings that are secrets or may contain one: providers put keys into URLs. Each may be given as a file instead. */
export const SECRET_SETTINGS = [
  'DATABASE_URL',
  'OPERATOR_TOKEN',
  'METRICS_TOKEN',
  'ALERT_WEBHOOK_URL',
  'ALERT_WEBHOOK_SECRET',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
] as const;

/** The same, for each chain. */
export const SECRET_CHAIN_SETTINGS = [
  'RPC_URL',
  'RPC_WS_URL',
  'RELAYER_KEY',
  'RELAYER_KEYSTORE_PASSWORD',
  'RELAYER_SIGNER_URL',
  'RELAYER_SIGNER_TOKEN',
] as const;

/** A password may start or end with a space; only the last line end of its file is removed. */
const valueOf = (setting: string, text: string): string =>
  setting.startsWith('RELAYER_KEYSTORE_PASSWORD_') ? text.replace(/\r?\n$/, '') : text.trim();

interface SecretName {
  readonly setting: string;
  /** Variables that may name its file. */
  readonly files: readonly string[];
}

/** The chain's name may come before `_FILE` or after it. */
export const SECRET_NAMES: readonly SecretName[] = [
  ...SECRET_SETTINGS.map((setting) => ({ setting, files: [`${setting}_FILE`] })),
  ...CHAIN_SLUGS.flatMap((slug) =>
    SECRET_CHAIN_SETTINGS.map((name) => {
      const setting = chainVariable(name, slug);
      return { setting, files: [`${setting}_FILE`, chainVariable(`${name}_FILE`, slug)] };
    }),
  ),
];

export interface SourceFiles {
  readonly readText: ReadText;
  /** Whether other users than the owner may read the file. */
  readonly isShared: (path: string) => boolean;
}

const NO_FILES: SourceFiles = {
  readText: () => {
    throw new Error('No file can be read here.');
  },
  isShared: () => false,
};

interface Given {
  /** The variable's name for the operator. */
  readonly name: string;
  /** Null where it is invalid. */
  readonly value: string | null;
  readonly problem?: string;
  readonly warning?: string;
}

/** Replaces settings by the contents of their files. The only place where a secret is read from a file. */
export function openSource(environment: Environment, files = NO_FILES): Source {
  const variables = present(environment);
  const found = new Map(
    SECRET_NAMES.flatMap((secret) => {
      const given = fromFile(secret, variables, files);
      return given === null ? [] : [[secret.setting, given] as const];
    }),
  );
  for (const [setting, { value }] of found)
    if (value === null) Reflect.deleteProperty(variables, setting);
    else variables[setting] = value;
  return {
    variables,
    readText: files.readText,
    problems: [...found.values()].flatMap(({ problem = [] }) => problem),
    nameOf: (setting) => found.get(setting)?.name ?? setting,
    isGiven: (setting) => variables[setting] !== undefined || found.has(setting),
    warningsOf: (setting) => [found.get(setting)?.warning ?? []].flat(),
  };
}

/** Null where no file is named. */
function fromFile(
  { setting, files }: SecretName,
  variables: Readonly<Record<string, string>>,
  { readText, isShared }: SourceFiles,
): Given | null {
  const names = [setting, ...files].filter((name) => variables[name] !== undefined);
  const [name = setting] = names;
  if (names.length > 1) return { name, value: null, problem: `${names.join(' and ')} are both set; keep one of them` };
  if (name === setting) return null;
  const path = variables[name] ?? '';
  const text = readSecret(readText, path);
  if (text === null) return { name, value: null, problem: `${name} must name a file that can be read` };
  if (text.trim() === '') return { name, value: null, problem: `${name} names a file that is empty` };
  const value = valueOf(setting, text);
  return isShared(path)
    ? { name, value, warning: `the file of ${name} can be read by others than its owner: chmod 600 it` }
    : { name, value };
}

/** Null where the file cannot be read; the reason may quote its path, which may be a key given by mistake. */
export function readSecret(readText: ReadText, path: string): string | null {
  try {
    return readText(path);
  } catch {
    return null;
  }
}

/** Removes secrets from the environment of child processes. Its own initial environment stays visible to its user: files are safer. */
export function forgetSecrets(environment: Record<string, string | undefined>): void {
  for (const { setting } of SECRET_NAMES) Reflect.deleteProperty(environment, setting);
}
