import { CHAIN_SLUGS, chainVariable } from './chains.js';
import { present, type Environment, type ReadText, type Source } from './config-source.js';

/** Settings that are secrets, or may hold one: providers put keys into addresses. Each may stand in a file instead. */
export const SECRET_SETTINGS = ['DATABASE_URL', 'OPERATOR_TOKEN', 'ALERT_WEBHOOK_URL', 'ALERT_WEBHOOK_SECRET'] as const;

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
const EXACT = /^RELAYER_KEYSTORE_PASSWORD_/;

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

/** Puts what files hold in the place of the settings that they are for. The one place where a secret is read from a file. */
export function openSource(environment: Environment, { readText, isShared } = NO_FILES): Source {
  const given = present(environment);
  const variables: Record<string, string> = { ...given };
  const problems: string[] = [];
  const namedAs = new Map<string, string>();
  const warnings = new Map<string, string>();
  for (const { setting, files } of SECRET_NAMES) {
    const names = [setting, ...files].filter((name) => given[name] !== undefined);
    const [name, second] = names;
    if (name === undefined || (name === setting && second === undefined)) continue;
    namedAs.set(setting, name);
    const path = given[name] ?? '';
    const text = second === undefined ? readSecret(readText, path) : null;
    if (second !== undefined) problems.push(`${names.join(' and ')} are both set; keep one of them`);
    else if (text === null) problems.push(`${name} must name a file that can be read`);
    else if (text.trim() === '') problems.push(`${name} names a file that is empty`);
    else if (isShared(path)) warnings.set(setting, `the file of ${name} can be read by others than its owner: chmod 600 it`);
    Reflect.deleteProperty(variables, setting);
    if (text !== null && text.trim() !== '')
      variables[setting] = setting.startsWith('RELAYER_KEYSTORE_PASSWORD_') ? text.replace(/\r?\n$/, '') : text.trim();
  }
  return {
    variables,
    readText,
    problems,
    nameOf: (setting) => namedAs.get(setting) ?? setting,
    isGiven: (setting) => variables[setting] !== undefined || namedAs.has(setting),
    warningsOf: (setting) => [warnings.get(setting) ?? []].flat(),
  };
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
