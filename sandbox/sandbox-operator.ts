import { systemRandom } from '../core/adapters/system/random.js';
import { operatorSettings, type OperatorSettings } from '../core/config/operator.js';
import type { SandboxSettings } from './settings.js';

const TOKEN_BYTES = 18;

export interface SandboxOperator {
  readonly operator: OperatorSettings & { readonly token: () => string };
  /** What everybody on this machine may know; null where the token is somebody's own, who may use it elsewhere too. */
  readonly publicToken: string | null;
}

/** Somebody who tries the sandbox is its operator: without a token of their own they get one, shown at the start. */
export function sandboxOperator(settings: SandboxSettings): SandboxOperator {
  const operator = operatorSettings(settings);
  const made = Buffer.from(systemRandom(TOKEN_BYTES)).toString('base64url');
  return { operator: { ...operator, token: operator.token ?? (() => made) }, publicToken: operator.token === null ? made : null };
}
