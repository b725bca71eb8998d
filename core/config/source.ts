import type { z } from 'zod';
import { StartError } from '../errors.js';

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
