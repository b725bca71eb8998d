import type { AgentCaller } from '../access/caller.js';
import { reserveSpend } from '../access/spend.js';
import { decimal, round } from '../domain/decimal.js';
import type { Collateral } from '../domain/market.js';
import type { Order } from '../domain/order.js';
import { collateralToUsd } from '../domain/pricing/size.js';
import type { Gateway, Venue } from '../gateway.js';
import type { KnownOrder } from './orders-store.js';

const USD_DECIMALS = 6;

/**
 * What a resting order grows by counts against the agent's day, in one step with the check. Preparing the same growth again counts once.
 * It is given back with the order: whether the bigger one was ever sent is known only when it is too late to refuse the next one.
 */
export async function spendMore(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { known, order, collateral }: { readonly known: KnownOrder; readonly order: Order; readonly collateral: Collateral },
): Promise<void> {
  const growth = order.sizeCollateral - known.order.sizeCollateral;
  if (growth <= 0n) return;
  const usd = round(decimal(collateralToUsd(growth, collateral), 18), USD_DECIMALS, 'up');
  await reserveSpend(gateway, venue, caller, { id: `${known.id}/${order.sizeCollateral}`, usd });
}
