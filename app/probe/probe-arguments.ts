import { parseArgs } from 'node:util';
import { CHAIN_SLUGS, chainVariable, isChainSlug, type ChainSlug } from '../../core/chains/chains.js';
import { StartError } from '../../core/errors.js';
import { readConfig } from '../../core/config/config.js';
import type { ChainConfig } from './probe-node.js';

interface ProbeArguments {
  /** Null: every configured chain. */
  readonly chain: ChainSlug | null;
  /** Overrides the environment; absent = no override. */
  readonly hosts: Readonly<Partial<Record<HostSetting, string>>>;
  readonly json: boolean;
}

const HOST_SETTINGS = {
  rpc: 'RPC_URL',
  ws: 'RPC_WS_URL',
  backend: 'BACKEND_URL',
  pricing: 'PRICING_URL',
  global: 'GLOBAL_URL',
} as const;
export type HostSetting = (typeof HOST_SETTINGS)[keyof typeof HOST_SETTINGS];

export const USAGE = `Usage: npm run probe -- --chain <chain> [options]

Asks the nodes, the Diamond and the protocol's backends of a chain whether they are what this release expects. It only reads,
needs no database and no key, and takes less than a minute.

  --chain <chain>   ${CHAIN_SLUGS.join(', ')}
  --all             every chain that has an RPC_URL_<CHAIN>
  --rpc <urls>      instead of RPC_URL_<CHAIN>
  --ws <urls>       instead of RPC_WS_URL_<CHAIN>
  --backend <url>   instead of BACKEND_URL_<CHAIN>
  --pricing <url>   instead of PRICING_URL
  --global <url>    instead of GLOBAL_URL
  --json            for machines

Everything else is read from the same environment as the gateway's.
Exit code: 0 all as expected, 1 something differs, 2 something could not be reached, or the command was not understood.`;

const text = { type: 'string' } as const;
const OPTIONS = {
  chain: text,
  rpc: text,
  ws: text,
  backend: text,
  pricing: text,
  global: text,
  all: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const misuse = (sentence: string): StartError => new StartError(`${sentence}\n\n${USAGE}`);

/** Null if the usage was asked for. */
export function readArguments(words: readonly string[]): ProbeArguments | null {
  const values = parse(words);
  if (values.help === true) return null;
  const { chain, all = false, json = false } = values;
  if (all === (chain !== undefined)) throw misuse('Give either --chain or --all.');
  if (chain !== undefined && !isChainSlug(chain)) throw misuse(`There is no chain "${chain}".`);
  const given = Object.entries(HOST_SETTINGS).flatMap(([option, setting]) => {
    const value = values[option as keyof typeof HOST_SETTINGS];
    return value === undefined ? [] : [[setting, value] as const];
  });
  if (all && given.length > 0) throw misuse('--all takes its hosts from the environment.');
  return { chain: chain ?? null, hosts: Object.fromEntries(given), json };
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options: OPTIONS, allowPositionals: false }).values;
  } catch (error) {
    const text = typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : 'Not understood';
    // A misplaced word may be a URL with a key, so it is not repeated.
    throw misuse(
      text.startsWith('Unexpected argument') ? 'Give every address behind its option; several, with commas.' : text.split('. ', 1).join(''),
    );
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Hosts and referrers. Keys, tokens and the database settings are not read by the probe. */
const HOSTS = /^(?:(?:RPC|RPC_WS|BACKEND|PRICING|GLOBAL)_URL|START_BLOCK|REFERRER)(?:_|$)/;

/** The chains to check, read by the gateway's own rules. Throws a StartError with all problems. */
export function probedChains(
  { chain, hosts }: ProbeArguments,
  environment: Environment,
  readText: (path: string) => string,
): readonly ChainConfig[] {
  const known = Object.entries(environment).filter(([name]) => HOSTS.test(name));
  const wanted = chain === null ? known : known.filter(([name]) => isOf(name, chain));
  const variables: Record<string, string | undefined> = { ...Object.fromEntries(wanted), DATABASE_URL: 'embedded:none' };
  if (chain !== null)
    for (const [setting, url] of Object.entries(hosts)) {
      const name = chainVariable(setting, chain);
      for (const other of [`${name}_FILE`, chainVariable(`${setting}_FILE`, chain)]) variables[other] = undefined;
      variables[setting === HOST_SETTINGS.pricing || setting === HOST_SETTINGS.global ? setting : name] = url;
    }
  const { chains } = readConfig(variables, readText);
  if (chains.length === 0) throw new StartError('No chain is configured.');
  return chains;
}

/** Whether a setting applies to this chain; problems of other chains are ignored. */
function isOf(name: string, chain: ChainSlug): boolean {
  const others = CHAIN_SLUGS.filter((slug) => slug !== chain);
  const isIts = (slug: ChainSlug): boolean => name.includes(chainVariable('', slug));
  return isIts(chain) ? !others.some((slug) => slug.length > chain.length && isIts(slug)) : !others.some(isIts);
}
