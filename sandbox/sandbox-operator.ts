import { systemRandom } from '../core/adapters/system/clock.js';
import { operatorSettings, type OperatorSettings } from '../core/config/operator.js';
import type { SandboxSettings } from './settings.js';

const TOKEN_BYTES = 18;

export interface SandboxOperator {
  readonly operator: OperatorSettings & { readonly token: () => string };
  /** The token published to local clients; null if the user configured one, which may be in use elsewhere. */
  readonly publicToken: string | null;
}

/** The user of a sandbox is its operator: without a configured token a new one is generated and shown at start. */
export function sandboxOperator(settings: SandboxSettings): SandboxOperator {
  const operator = operatorSettings(settings);
  const made = Buffer.from(systemRandom(TOKEN_BYTES)).toString('base64url');
  return { operator: { ...operator, token: operator.token ?? (() => made) }, publicToken: operator.token === null ? made : null };
}
