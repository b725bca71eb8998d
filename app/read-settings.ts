import { readFileSync, statSync } from 'node:fs';
import { parseEnv } from 'node:util';
import {
  ConfigError,
  present,
  readSecret,
  SECRET_NAMES,
  SECRET_SETTINGS,
  type Environment,
  type SourceFiles,
} from '../core/config/source.js';
import { CHAIN_SLUGS } from '../core/chains/chains.js';
import { COMMON_SETTINGS } from '../core/config/config.js';
import { chainSettingNames } from '../core/config/chain.js';

/** File access of the main programs. */
export const systemFiles: SourceFiles = {
  readText: (path) => readFileSync(path, 'utf8'),
  isShared: (path) => (statSync(path).mode & 0o077) !== 0,
};

export interface ReadSettings<Settings> {
  readonly settings: Settings;
  /** Warnings about the file of CONFIG_FILE. */
  readonly warnings: readonly string[];
}

/** Reads the environment and, with lower priority, the file of CONFIG_FILE. All problems of both are reported at once. */
export function readSettings<Settings>(
  environment: Environment,
  read: (variables: Environment, files: SourceFiles) => Settings,
): ReadSettings<Settings> {
  const { variables, problems, warnings } = readConfigFile(present(environment), systemFiles, parseEnv);
  try {
    const settings = read(variables, systemFiles);
    if (problems.length === 0) return { settings, warnings };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError([...problems, ...error.problems]);
  }
  throw new ConfigError(problems);
}

/** Read by commands and start scripts, not by the gateway itself. */
const OTHER_SETTINGS = ['GATEWAY_URL'] as const;

/** Every name that a settings file may contain; the sandbox has its own. */
export const SETTING_NAMES: ReadonlySet<string> = new Set([
  ...COMMON_SETTINGS,
  ...SECRET_SETTINGS.map((setting) => `${setting}_FILE`),
  ...CHAIN_SLUGS.flatMap(chainSettingNames),
  ...OTHER_SETTINGS,
]);

const CONFIG_FILE = 'CONFIG_FILE';

interface FileSettings {
  readonly variables: Readonly<Record<string, string>>;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** Parses `NAME=value` lines like Node does. */
type ParseLines = (text: string) => Readonly<Record<string, string | undefined>>;

/** Merges the file of CONFIG_FILE into the environment, which takes precedence. */
function readConfigFile(environment: Readonly<Record<string, string>>, files: SourceFiles, parse: ParseLines): FileSettings {
  const path = environment[CONFIG_FILE];
  if (path === undefined) return { variables: environment, problems: [], warnings: [] };
  const text = readSecret(files.readText, path);
  // Other missing settings may be in this file, so no other problem is reported.
  if (text === null) throw new ConfigError([`${CONFIG_FILE} must name a file that can be read`]);
  const values = parse(text);
  const isExposed = SECRET_NAMES.some(({ setting }) => (values[setting] ?? '').trim() !== '') && files.isShared(path);
  return {
    variables: { ...withoutRivals(values, environment), ...environment },
    problems: lineProblems(text, values),
    warnings: isExposed ? [`the file of ${CONFIG_FILE} holds secrets and can be read by others than its owner: chmod 600 it`] : [],
  };
}

/** A secret given by the environment in one form overrides the same secret given by the file in another. */
function withoutRivals(values: ReturnType<ParseLines>, environment: Readonly<Record<string, string>>): Record<string, string> {
  const rivals = new Set(
    SECRET_NAMES.map(({ setting, files }) => [setting, ...files])
      .filter((names) => names.some((name) => environment[name] !== undefined))
      .flat(),
  );
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined || rivals.has(name) ? [] : [[name, value]])),
  );
}

const ASSIGNMENT = /^\s*(?:export\s+)?([^\s=#]+)\s*=\s*(.*)$/;
const isSetting = (name: string): boolean => SETTING_NAMES.has(name) || name.startsWith('SANDBOX_');

/** Lines are reported by number, because an invalid line may contain a misplaced secret. */
function lineProblems(text: string, values: ReturnType<ParseLines>): string[] {
  const lines = text.split(/\r?\n/);
  const seenAt = new Map<string, number>();
  const problems: string[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const [line, number] = [lines[at] ?? '', at + 1];
    if (/^\s*(?:#|$)/.test(line)) continue;
    const [, name, value = ''] = ASSIGNMENT.exec(line) ?? [];
    const { end, isPlain } = extentOf(lines, at, value);
    if (name === undefined) problems.push(`line ${number} of the file of ${CONFIG_FILE} is no NAME=value`);
    else if (!isSetting(name)) problems.push(`line ${number} of the file of ${CONFIG_FILE} names no setting`);
    else if (seenAt.has(name))
      problems.push(`${name} is set twice in the file of ${CONFIG_FILE}, in lines ${seenAt.get(name)} and ${number}`);
    // The parser and this check must agree, or a limit on money would be lost silently.
    else if (!isPlain || values[name] === undefined)
      problems.push(`${name} in line ${number} of the file of ${CONFIG_FILE} would not be read as it is written: ${HOW}`);
    if (name !== undefined && !seenAt.has(name)) seenAt.set(name, number);
    at = end;
  }
  return problems;
}

const HOW = 'begin the line with the name, quote a value with a #, and write nothing but a comment behind a quote';

/** The line in which a value ends; an unclosed quote ends with its line. `isPlain`: the whole text is the value. */
function extentOf(lines: readonly string[], at: number, value: string): { readonly end: number; readonly isPlain: boolean } {
  const quote = /^["'`]/.exec(value)?.[0];
  if (quote === undefined) return { end: at, isPlain: !/\S#/.test(value) };
  const isClosed = (text: string, from: number): boolean => /^\s*(?:#|$)/.test(text.slice(text.indexOf(quote, from) + 1));
  if (value.includes(quote, 1)) return { end: at, isPlain: isClosed(value, 1) };
  const end = lines.findIndex((line, later) => later > at && line.includes(quote));
  return end === -1 ? { end: at, isPlain: false } : { end, isPlain: isClosed(lines[end] ?? '', 0) };
}
