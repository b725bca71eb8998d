import { getAccount } from '../../../core/account/get-account.js';
import { listPositions } from '../../../core/account/list-positions.js';
import { formatDecimal, type Decimal } from '../../../core/domain/decimal.js';
import { venueOf } from '../../../core/gateway.js';
import type { Address } from '../../../core/types.js';
import { chainTrader } from '../../harness/traders/chain-trader.js';
import { livingGateway, SLUG, type Evidence, type Invariant } from './evidence.js';

/** What the orders of an account took from its wallet and still hold, as the events of the chain say. */
const HELD = `
  select coalesce(sum((orders.state -> 'collateralAmount' ->> '$n')::numeric), 0)::text as held
  from orders left join positions on positions.chain = orders.chain and positions.trader = orders.trader
    and positions.trade_index = (orders.state ->> 'tradeIndex')::bigint
  where orders.chain = $1 and orders.trader = $2 and (
    orders.status = 'open' and orders.state ->> 'action' = 'open'
    or orders.status in ('pending', 'timed_out') and (
      orders.state ->> 'action' in ('open', 'increase')
      or orders.state ->> 'action' = 'leverage'
        and (orders.state -> 'leverage' ->> '$n')::numeric < (positions.state -> 'leverage' ->> '$n')::numeric))`;

const MICRO = 1e6;
/** Figures on the wire are rounded, and half a second may lie between two readings. */
const CLOSE = 0.05;

/**
 * What an account is worth is its wallet, what its orders hold and its positions, on both APIs. The wallet is asked of the chain's own token,
 * and the orders are those of the events, so that none of the sums is taken from the views that the gateway adds up.
 */
export const equityIsWhole: Invariant = async (evidence) => {
  const complaints: string[] = [];
  for (const { address, privateKey } of evidence.bots.traders) {
    const trader = address.toLowerCase() as Address;
    const expected = await worth(evidence, trader, privateKey);
    const shown = { facade: await facadeEquity(evidence, trader), native: await nativeEquity(evidence, trader) };
    for (const [api, equity] of Object.entries(shown))
      if (Math.abs(equity - expected) > CLOSE) complaints.push(`${trader} is worth ${expected}, and the ${api} API shows ${equity}`);
  }
  return complaints;
};

const number = (value: Decimal): number => Number(formatDecimal(value));
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

async function worth({ world }: Evidence, trader: Address, privateKey: `0x${string}`): Promise<number> {
  const [chain] = world.venue.sandbox.controls.chains;
  if (chain === undefined) throw new Error('the sandbox has no chain');
  const [row] = await world.gate.read<{ held: string }>(HELD, [SLUG, trader]);
  const wallet = await chainTrader(chain, privateKey).usdc();
  return (Number(wallet) + Number(row?.held ?? 0)) / MICRO + (await positionsWorth(world, trader));
}

async function positionsWorth(world: Evidence['world'], trader: Address): Promise<number> {
  const gateway = livingGateway(world);
  const positions = await listPositions(gateway, venueOf(gateway, SLUG), trader);
  return sum(positions.map(({ collateral, unrealizedPnl }) => number(collateral) + number(unrealizedPnl)));
}

async function facadeEquity({ bots }: Evidence, user: Address): Promise<number> {
  const [anyone] = bots.facade;
  const answer = await anyone?.info('clearinghouseState', { user });
  return Number((answer?.body as { marginSummary?: { accountValue: string } } | undefined)?.marginSummary?.accountValue);
}

async function nativeEquity({ world }: Evidence, trader: Address): Promise<number> {
  const gateway = livingGateway(world);
  const { balances } = await getAccount(gateway, venueOf(gateway, SLUG), trader);
  const own = balances.filter(({ collateral }) => collateral === 'USDC');
  return sum(own.map(({ balance, inOrders }) => number(balance) + number(inOrders))) + (await positionsWorth(world, trader));
}
