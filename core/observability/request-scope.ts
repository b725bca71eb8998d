import type { ApiName, Transport } from './metrics.js';

export interface ScopeStart {
  readonly door: ApiName;
  readonly transport: Transport;
  readonly method: string;
  /** The client's header as received. */
  readonly traceparent?: string | undefined;
}

export interface OpenScope {
  /** Binds logs and calls of the work to the request. Called when its body was read. */
  run<Result>(requestId: string, work: () => Result): Result;
  close(operation: string, status: number): void;
}

/**
 * Links everything that one request causes. Only used where traces or debug logs are enabled, because async context makes every await more
 * expensive.
 */
export interface RequestScopes {
  open(start: ScopeStart): OpenScope;
}
