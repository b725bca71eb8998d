import type { AgentView } from '../access/agent-status.js';
import { listAgents } from '../access/agents.js';
import { decimal, type Decimal } from '../domain/decimal.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address } from '../types.js';
import { fromNode } from '../ports/chain.js';
import { heldInOrders, newestBlock } from './list-positions.js';

export interface Account {
  address: Address;
  /**
   * Token units at one block; the allowance is towards the Diamond. `inOrders` is collateral that has left the wallet for resting orders and
   * requests. A token that cannot be read is left out instead of shown as 0.
   */
  balances: { collateral: string; balance: Decimal; allowance: Decimal; inOrders: Decimal }[];
  /** 1 = the full fee. */
  feeTierMultiplier: Decimal | null;
  referrer: Address | null;
  agents: AgentView[];
}

const FEE_SCALE = 6;

export async function getAccount(gateway: Gateway, venue: Venue, trader: Address): Promise<Account> {
  const { collaterals } = venue.feed.config();
  const tokens = collaterals.map(({ address }) => address);
  const [wallet, facts, agents] = await Promise.all([
    fromNode(venue.chain.wallet({ trader, tokens, block: newestBlock(venue) })),
    fromNode(venue.chain.accountFacts(trader, [])),
    listAgents(gateway, venue, trader),
  ]);
  const inOrders = heldInOrders(venue, wallet);
  return {
    address: trader,
    balances: collaterals.flatMap(({ symbol, index, decimals, isActive }, at) => {
      const [token, held] = [wallet.tokens[at], inOrders.get(index) ?? 0n];
      // Orders in a collateral that was deactivated since still give it back.
      if (!token || (!isActive && held === 0n)) return [];
      const amount = (units: bigint): Decimal => decimal(units, decimals);
      return [{ collateral: symbol, balance: amount(token.balance), allowance: amount(token.allowance), inOrders: amount(held) }];
    }),
    feeTierMultiplier: facts.feeMultiplier === null ? null : decimal(facts.feeMultiplier, FEE_SCALE),
    referrer: facts.referrer,
    agents,
  };
}
