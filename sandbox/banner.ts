import { DEMO_ROLES } from './accounts.js';
import type { SandboxControls } from './controls.js';

/** Shown once, when everything is ready. */
export function banner(url: string, controls: SandboxControls, operatorToken: string | null): string {
  const [first] = controls.chains;
  const slug = first?.definition.slug ?? '';
  return [
    '',
    `  Diamond Gateway sandbox is ready: ${url}`,
    '',
    ...controls.chains.map(
      ({ definition, rpcUrl }) => `  native API   ${url}/v1/${definition.slug}   (node ${rpcUrl}, chain id ${definition.chainId})`,
    ),
    '',
    '  demo accounts (keys follow from SANDBOX_SEED and are public: never send them anything of value)',
    ...DEMO_ROLES.map((role) => `  ${role.padEnd(10)} ${controls.accounts[role].address}`),
    '',
    '  first steps',
    `  curl -s ${url}/v1/${slug}/markets`,
    `  curl -s ${url}/v1/${slug}/prices`,
    `  curl -s -X POST ${url}/sandbox/price -d '{"market":"BTC/USD","price":"65000"}'`,
    '',
    '  the operator of the relayer',
    `  curl -s -H "Authorization: Bearer ${operatorToken ?? '$OPERATOR_TOKEN'}" ${url}/relayer/status`,
    '',
    '  Ctrl-C ends everything.',
    '',
  ].join('\n');
}

export interface Progress {
  step(sentence: string): void;
}

/** One line per step with the elapsed time, so that a slow start shows where it is. */
export function createProgress(now: () => number, write: (line: string) => void): Progress {
  const startedAt = now();
  return { step: (sentence) => write(`[${((now() - startedAt) / 1000).toFixed(1).padStart(4)} s] ${sentence}\n`) };
}
