import { sleepWith, systemClock } from '../../core/adapters/system/clock.js';
import type { Finding } from '../../app/probe/look.js';
import { runProbe } from '../../app/probe/run-probe.js';
import type { Clock } from '../../core/ports/clock.js';
import type { TestVenue } from '../harness/venue/own-venue.js';

export type Environment = Record<string, string>;

/** What an operator would set to look at the sandbox. */
export function environmentOf({ config }: TestVenue): Environment {
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

/** The shortest time that a probe gives a host to answer: it listens for less. */
const SHORTEST_LIMIT_MS = 8_000;
const after: Clock['after'] = (ms, task) => systemClock.after(ms < SHORTEST_LIMIT_MS ? ms : ms * 10, task);
/** A host that is only slow is not called unreachable. */
const PATIENT: Clock = { ...systemClock, after, sleep: sleepWith(after) };

/** The command in this process, its words and its environment. */
export const probe = (environment: Environment, ...words: readonly string[]): Promise<ProbeRun> => probeBy(PATIENT, environment, words);

/** With the limits of production, for hosts that do not answer. */
export const probeInTime = (environment: Environment): Promise<ProbeRun> => probeBy(systemClock, environment, []);

async function probeBy(clock: Clock, environment: Environment, words: readonly string[]): Promise<ProbeRun> {
  let [output, complaint] = ['', ''];
  const code = await runProbe(words.length > 0 ? words : ['--chain', 'arbitrum-sepolia', '--json'], {
    environment,
    readText: () => {
      throw new Error('no file is read here');
    },
    clock,
    write: (text) => void (output += text),
    complain: (text) => void (complaint += text),
  });
  const findings = output.startsWith('{') ? (JSON.parse(output) as { findings: Finding[] }).findings : [];
  return { code, output, complaint, findings };
}

/** `part: check` → verdict, without the ports that differ from run to run. */
export const verdicts = (findings: readonly Finding[]): Record<string, string> =>
  Object.fromEntries(findings.map(({ part, check, verdict }) => [`${part.replace(/ 127\.0\.0\.1:\d+/, '')}: ${check}`, verdict]));

export const NODE = 'RPC_URL_ARBITRUM_SEPOLIA';
export const BACKEND = 'BACKEND_URL_ARBITRUM_SEPOLIA';
export const found = ({ findings }: ProbeRun, check: string): string | undefined => findings.find((one) => one.check === check)?.found;

/** Every check of a venue that is as expected. */
export const ALL_OK = {
  ...lines('arbitrum-sepolia node', [
    'chain id',
    'newest block',
    'clock',
    'calls per request',
    'history to follow from',
    'state of the past',
    'simulation',
    'blocks per eth_getLogs',
  ]),
  ...lines('arbitrum-sepolia node line', ['new blocks over WebSocket']),
  ...lines('arbitrum-sepolia Diamond', ['code', 'functions', 'markets', 'events']),
  ...lines('arbitrum-sepolia backend', [
    'trading variables',
    'trading variables, read',
    'age of the trading variables',
    'events over WebSocket',
  ]),
  ...lines('pricing', [
    'charts',
    'prices over WebSocket',
    ...['1m', '5m', '15m', '30m', '1h', '4h', '1d'].map((interval) => `candles of ${interval}`),
  ]),
  ...lines('history', ['history of chain 421614']),
};

function lines(part: string, checks: readonly string[]): Record<string, string> {
  return Object.fromEntries(checks.map((check) => [`${part}: ${check}`, 'ok']));
}
