import type { WriteName } from '../chains/diamond-functions.js';
import type { Collateral } from '../domain/market.js';
import { GatewayError } from '../errors.js';
import type { Venue } from '../gateway.js';

/** A facet may be missing on a chain or removed by an upgrade; operations that need it are rejected as a whole. */
export function requireServed(
  { definition, state: { facts } }: Pick<Venue, 'definition' | 'state'>,
  functions: readonly WriteName[],
): void {
  if (facts === null) throw new GatewayError('NOT_READY', { reason: 'the node has not been asked what the contracts serve' });
  const missing = functions.find((name) => facts.missing?.includes(name));
  if (missing !== undefined)
    throw new GatewayError('UNSUPPORTED', { reason: `The contracts on ${definition.slug} do not serve ${missing}, which this needs.` });
}

export const serves = ({ state: { facts } }: Pick<Venue, 'state'>, name: WriteName): boolean =>
  facts !== null && facts.missing?.includes(name) !== true;

/** Rejects while backend and contract name different tokens for a collateral, because the trader would approve a token the contract does not take. */
export function requireAgreed({ state: { facts } }: Pick<Venue, 'state'>, { index, symbol, address }: Collateral): void {
  const real = facts?.collaterals?.[index - 1]?.address;
  if (real !== undefined && real.toLowerCase() !== address.toLowerCase())
    throw new GatewayError('NOT_READY', { reason: `the backend and the contracts name different tokens for the collateral ${symbol}` });
}
