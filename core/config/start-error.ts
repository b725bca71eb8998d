/** Why the program cannot start: one sentence for a person, free of secrets. A main prints it and exits with 1. */
export class StartError extends Error {
  override readonly name: string = 'StartError';
}
