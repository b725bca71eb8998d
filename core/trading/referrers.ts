import { isAddress } from 'viem/utils';
import { chainVariable, type ChainSlug } from '../chains/chains.js';
import type { Source } from '../config/source.js';

type Address = `0x${string}`;

/** Referrers named in openings; null = none. The contract keeps a trader's first referrer. */
export interface Referrers {
  /** For openings sent by the relayer. */
  readonly relayed: Address | null;
  /** For openings sent by agents, unless the order names another. */
  readonly native: Address | null;
}

export const NO_REFERRERS: Referrers = { relayed: null, native: null };

export const REFERRER_VARIABLES = ['REFERRER', 'REFERRER_NATIVE'] as const;

export const readReferrers = (slug: ChainSlug, source: Pick<Source, 'variables' | 'problems'>): Referrers => ({
  relayed: readReferrer(chainVariable('REFERRER', slug), source),
  native: readReferrer(chainVariable('REFERRER_NATIVE', slug), source),
});

function readReferrer(name: string, { variables, problems }: Pick<Source, 'variables' | 'problems'>): Address | null {
  const text = variables[name];
  if (text === undefined) return null;
  if (isAddress(text) && BigInt(text) !== 0n) return text.toLowerCase() as Address;
  problems.push(`${name} must be an address, in lower case or with its checksum, and not the zero address`);
  return null;
}

/** The distinct configured referrers. */
export const referrersOf = ({ relayed, native }: Referrers): Address[] => [
  ...new Set([relayed, native].filter((address) => address !== null)),
];
