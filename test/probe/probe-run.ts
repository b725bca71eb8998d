import { systemClock } from '../../core/adapters/system-clock.js';
import type { Finding } from '../../probe/finding.js';
import { runProbe } from '../../probe/run-probe.js';
import type { TestSandbox } from '../harness/sandbox.js';

export type Environment = Record<string, string>;

/** What an operator would set to look at the sandbox. */
export function environmentOf({ config }: TestSandbox): Environment {
  const [chain] = config.chains;
  if (!chain) throw new Error('the sandbox has no chain');
  return {
    RPC_URL_ARBITRUM_SEPOLIA: chain.rpcUrls.join(','),
    RPC_WS_URL_ARBITRUM_SEPOLIA: chain.wsUrls.join(','),
    BACKEND_URL_ARBITRUM_SEPOLIA: chain.backendUrl,
    PRICING_URL: chain.pricingUrl,
    GLOBAL_URL: chain.globalUrl,
    START_BLOCK_ARBITRUM_SEPOLIA: '0',
  };
}

export interface ProbeRun {
  readonly code: number;
  readonly output: string;
  readonly complaint: string;
  readonly findings: readonly Finding[];
}

/** The command in this process, its words and its environment. */
export async function probe(environment: Environment, ...words: readonly string[]): Promise<ProbeRun> {
  let [output, complaint] = ['', ''];
  const code = await runProbe(words.length > 0 ? words : ['--chain', 'arbitrum-sepolia', '--json'], {
    environment,
    readText: () => {
      throw new Error('no file is read here');
    },
    clock: systemClock,
    write: (text) => void (output += text),
    complain: (text) => void (complaint += text),
  });
  const findings = output.startsWith('{') ? (JSON.parse(output) as { findings: Finding[] }).findings : [];
  return { code, output, complaint, findings };
}

/** `part: check` → verdict, without the ports that differ from run to run. */
export const verdicts = (findings: readonly Finding[]): Record<string, string> =>
  Object.fromEntries(findings.map(({ part, check, verdict }) => [`${part.replace(/ 127\.0\.0\.1:\d+/, '')}: ${check}`, verdict]));
