import type { AgentCaller } from '../access/caller.js';
import { reserveSpend } from '../access/spend.js';
import { decimal, round } from '../domain/decimal.js';
import type { Collateral } from '../domain/market.js';
import type { Order } from '../domain/order.js';
import { collateralToUsd } from '../domain/pricing/size.js';
import type { Gateway, Venue } from '../gateway.js';
import type { KnownOrder } from '../ports/stores/orders.js';
import type { PreparedWrite } from './prepare-transaction.js';

const USD_DECIMALS = 6;

interface Growth {
  readonly known: KnownOrder;
  readonly order: Order;
  readonly collateral: Collateral;
  readonly write: Pick<PreparedWrite, 'transaction'>;
}

/**
 * The growth of a resting order counts against the agent's daily cap, atomically with the check. Preparing the same growth again counts once.
 * It is released when its transaction expires unsent, or with the order; if the transaction is mined after all, it counts again.
 */
export async function spendMore(
  gateway: Gateway,
  venue: Venue,
  caller: AgentCaller,
  { known, order, collateral, write }: Growth,
): Promise<void> {
  const growth = order.sizeCollateral - known.order.sizeCollateral;
  if (growth <= 0n) return;
  const usd = round(decimal(collateralToUsd(growth, collateral), 18), USD_DECIMALS, 'up');
  await reserveSpend(gateway, venue, caller, { id: `${known.id}/${order.sizeCollateral}`, usd, expiresAt: write.transaction.expiresAt });
}
