import type { z } from 'zod';
import { StartError } from './start-error.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The text of a file, or a throw. */
export type ReadText = (path: string) => string;

/** Where settings come from, and where what is wrong with them goes. */
export interface Source {
  /** None of them empty; what a file holds stands under the setting's own name. */
  readonly variables: Readonly<Record<string, string>>;
  readonly readText: ReadText;
  readonly problems: string[];
  /** What an operator calls the setting: its own name, or that of the variable that names its file. */
  nameOf(setting: string): string;
  /** Also true where something is wrong with its file, which is said already. */
  isGiven(setting: string): boolean;
  /** What is not wrong with it, but should be better. */
  warningsOf(setting: string): readonly string[];
}

/** Everything that is wrong, at once: an operator should not have to start ten times to find ten mistakes. */
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

/** An empty variable means the same as an absent one: `.env` files are full of them. */
export const present = (environment: Environment): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === undefined || value.trim() === '' ? [] : [[name, value.trim()]])),
  );

/** Never quotes a value: it may be a secret. A setting whose file is the trouble is not complained of twice. */
export function describeIssues(error: z.ZodError, source: Source): string[] {
  const isPublishedAlready = (setting: string): boolean => source.isGiven(setting) && source.variables[setting] === undefined;
  const told = error.issues.flatMap(({ path: [setting = '', ...rest], message }) =>
    isPublishedAlready(String(setting)) ? [] : [`${[source.nameOf(String(setting)), ...rest].join('.')} ${message}`],
  );
  return [...new Set(told)];
}
