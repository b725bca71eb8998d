import { StartError } from '../../errors.js';

export const STORE_START_PROBLEMS = [
  'unsupported',
  'package-missing',
  'folder-unusable',
  'folder-in-use',
  'folder-damaged',
  'server-failed',
  'unreachable',
  'migration-failed',
  'interrupted',
] as const;
export type StoreStartProblem = (typeof STORE_START_PROBLEMS)[number];

/** Why the database cannot be used. */
export class StoreStartError extends StartError {
  override readonly name = 'StoreStartError';
  readonly problem: StoreStartProblem;

  constructor(problem: StoreStartProblem, sentence: string, options?: ErrorOptions) {
    super(sentence, options);
    this.problem = problem;
  }
}
