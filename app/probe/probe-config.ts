import { CHAIN_SLUGS, chainVariable, type ChainSlug } from '../../core/chains/chains.js';
import { readConfig } from '../../core/config/config.js';
import { StartError } from '../../core/errors.js';
import { HOST_SETTINGS, type ProbeArguments } from './probe-arguments.js';
import type { ChainConfig } from './probe-node.js';

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
