import { readFileSync, statSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ConfigError, present, type Environment, type SourceFiles } from '../core/config/source.js';
import { readConfigFile } from '../core/config/file.js';

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
