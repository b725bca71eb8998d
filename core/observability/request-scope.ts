import type { DoorName, Transport } from './metrics.js';

export interface ScopeStart {
  readonly door: DoorName;
  readonly transport: Transport;
  readonly method: string;
  /** Of whoever asks, as it came. */
  readonly traceparent?: string | undefined;
}

export interface OpenScope {
  /** Everything logged or asked on behalf of the request from here on bears its name. Begun when its body is there. */
  run<Result>(requestId: string, work: () => Result): Result;
  close(operation: string, status: number): void;
}

/**
 * What belongs together because one request caused it. There only where somebody looks (traces, or a log that tells everything): to
 * follow a request through all that it waits for makes every wait dearer.
 */
export interface RequestScopes {
  open(start: ScopeStart): OpenScope;
}
