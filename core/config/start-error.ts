/** Why the program cannot start: one sentence without secrets. The main program prints it and exits with 1. */
export class StartError extends Error {
  override readonly name: string = 'StartError';
}
