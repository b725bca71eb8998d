import type { AgentView } from '../access/agent-status.js';
import { listAgents } from '../access/agents.js';
import { decimal, type Decimal } from '../domain/decimal.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import { activeCollaterals } from '../domain/market.js';
import type { Address } from '../types.js';

export interface Account {
  address: Address;
  /** Token units; the allowance is towards the Diamond. A token that cannot be read is left out instead of shown as 0. */
  balances: { collateral: string; balance: Decimal; allowance: Decimal }[];
  /** 1 = the full fee. */
  feeTierMultiplier: Decimal | null;
  referrer: Address | null;
  agents: AgentView[];
}

const FEE_SCALE = 6;

export async function getAccount(gateway: Gateway, venue: Venue, trader: Address): Promise<Account> {
  const collaterals = activeCollaterals(venue.feed.config());
  const [facts, agents] = await Promise.all([
    venue.chain
      .accountFacts(
        trader,
        collaterals.map(({ address }) => address),
      )
      .catch(unavailable),
    listAgents(gateway, venue, trader),
  ]);
  return {
    address: trader,
    balances: collaterals.flatMap(({ symbol, decimals }, at) => {
      const token = facts.tokens[at];
      return token
        ? [{ collateral: symbol, balance: decimal(token.balance, decimals), allowance: decimal(token.allowance, decimals) }]
        : [];
    }),
    feeTierMultiplier: facts.feeMultiplier === null ? null : decimal(facts.feeMultiplier, FEE_SCALE),
    referrer: facts.referrer,
    agents,
  };
}

function unavailable(error: unknown): never {
  throw new GatewayError('UPSTREAM_UNAVAILABLE', { upstream: 'node' }, { cause: error });
}
