import { CHAIN_SLUGS, chainVariable } from '../chains/chains.js';
import { present, type Environment, type ReadText, type Source } from './source.js';

/** Settings that are secrets, or may hold one: providers put keys into addresses. Each may stand in a file instead. */
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

/** A password may begin and end in a space; of its file only the last line end is the editor's. */
const valueOf = (setting: string, text: string): string =>
  setting.startsWith('RELAYER_KEYSTORE_PASSWORD_') ? text.replace(/\r?\n$/, '') : text.trim();

interface SecretName {
  readonly setting: string;
  /** Variables that may name its file. */
  readonly files: readonly string[];
}

/** The chain's name may stand before `_FILE` or after it. */
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
  /** Whether others than its owner may read the file. */
  readonly isShared: (path: string) => boolean;
}

const NO_FILES: SourceFiles = {
  readText: () => {
    throw new Error('No file can be read here.');
  },
  isShared: () => false,
};

interface Given {
  /** What the operator calls it. */
  readonly name: string;
  /** Null where something is wrong with it. */
  readonly value: string | null;
  readonly problem?: string;
  readonly warning?: string;
}

/** Puts what files hold in the place of the settings that they are for. The one place where a secret is read from a file. */
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

/** Null where the file cannot be read; why not may quote its path, which may be the key of somebody who mixed the two up. */
export function readSecret(readText: ReadText, path: string): string | null {
  try {
    return readText(path);
  } catch {
    return null;
  }
}

/** What this process starts inherits what is left, and needs none of these. Its own beginning stays in sight of its user: files are better. */
export function forgetSecrets(environment: Record<string, string | undefined>): void {
  for (const { setting } of SECRET_NAMES) Reflect.deleteProperty(environment, setting);
}
