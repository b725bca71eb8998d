import { z } from 'zod';
import { isAddress } from 'viem/utils';
import { chainVariable, type ChainSlug } from '../chains/chains.js';
import type { Source } from '../config/source.js';

export interface OrderSettings {
  /** Validity of a prepared transaction. */
  readonly preparedMs: number;
  /** Prepared and unsent orders that one agent may have at a time. */
  readonly maxUnsent: number;
}

const whole = (min: number, max: number) =>
  z.coerce.number('must be a number').int('must be a whole number').min(min, `must be at least ${min}`).max(max, `must be at most ${max}`);

/** The same for production and sandbox. */
export const ORDER_VARIABLES = {
  PREPARED_SECONDS: whole(1, 3600).default(60),
  MAX_UNSENT_ORDERS: whole(1, 10_000).default(50),
};

type Variables = z.output<z.ZodObject<typeof ORDER_VARIABLES>>;

export const orderSettings = ({ PREPARED_SECONDS, MAX_UNSENT_ORDERS }: Variables): OrderSettings => ({
  preparedMs: PREPARED_SECONDS * 1000,
  maxUnsent: MAX_UNSENT_ORDERS,
});

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
