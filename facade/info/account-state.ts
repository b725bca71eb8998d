import type { OpenTrade } from '../../core/ports/account-chain.js';
import { moneyOf, readOpenTrades, unitsOf } from '../../core/account/list-positions.js';
import { figuresOf } from '../../core/domain/interpret-executions.js';
import { collateralToUsd, entryBase } from '../../core/domain/pricing/size.js';
import { GatewayError } from '../../core/errors.js';
import type { LeverageSetting } from '../../core/ports/stores/exchange.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import { referenceCollateral } from '../../core/domain/market.js';
import type { Address, BlockHead } from '../../core/types.js';

/** One trade of the contract in base units (1e18), prices (1e10) and USD (1e18). */
export interface HeldTrade {
  readonly tradeIndex: number;
  readonly pairIndex: number;
  readonly long: boolean;
  readonly base: bigint;
  readonly entry: bigint;
  readonly mark: bigint;
  readonly collateralUsd: bigint;
  /** Profit from the price alone. */
  readonly pnlUsd: bigint;
  /** Funding and borrowing so far; positive costs the trader. */
  readonly fundingUsd: bigint;
  /** What else closing would pay: realised profit kept in the trade, less its fees. */
  readonly realizedUsd: bigint;
  /** 0 = none. */
  readonly liquidation: bigint;
}

export interface AccountState {
  readonly trades: readonly HeldTrade[];
  /** What the next opening can use: the wallet's balance up to its allowance, in the collateral of facade trades. */
  readonly spendableUsd: bigint;
  readonly settings: ReadonlyMap<number, LeverageSetting>;
}

export interface AccountReader {
  of(venue: Venue, trader: Address): Promise<AccountState>;
}

/** Reads an account from the chain with two concurrent requests; callers that ask meanwhile share the result. */
export function createAccountReader(gateway: Gateway): AccountReader {
  const underWay = new Map<string, Promise<AccountState>>();
  return {
    of(venue, trader) {
      const key = `${venue.definition.slug} ${trader}`;
      const asked = underWay.get(key);
      if (asked !== undefined) return asked;
      const asking = read(gateway, venue, trader).finally(() => underWay.delete(key));
      underWay.set(key, asking);
      return asking;
    },
  };
}

const read = async (gateway: Gateway, venue: Venue, trader: Address): Promise<AccountState> =>
  priceAccount(venue, await readAccount(gateway, venue, trader));

/** The part of an account that does not depend on prices, as read from the chain. */
export interface AccountFacts {
  readonly open: { readonly trades: readonly OpenTrade[]; readonly block: BlockHead };
  /** 1e8, by trade: the collateral's price at opening, which its size is based on. */
  readonly entryPrices: ReadonlyMap<number, bigint>;
  readonly spendableUsd: bigint;
  readonly settings: ReadonlyMap<number, LeverageSetting>;
}

export async function readAccount({ store }: Gateway, venue: Venue, trader: Address): Promise<AccountFacts> {
  const { slug } = venue.definition;
  const [{ open, entryPrices }, spendableUsd, settings] = await Promise.all([
    store.account.openPositions(slug, trader).then(async (known) => ({
      open: await readOpenTrades(venue, trader, known),
      entryPrices: new Map(
        known.flatMap(({ tradeIndex, position: { entryPriceUsd } }) => (entryPriceUsd === undefined ? [] : [[tradeIndex, entryPriceUsd]])),
      ),
    })),
    readSpendable(venue, trader),
    store.facade.leverage.of(slug, trader),
  ]);
  return { open, entryPrices, spendableUsd, settings };
}

/** Values an account at current prices. */
export const priceAccount = (venue: Venue, { open, entryPrices, spendableUsd, settings }: AccountFacts): AccountState => ({
  trades: open.trades.map((own) => held(venue, own, open.block, entryPrices.get(own.trade.index))),
  spendableUsd,
  settings,
});

async function readSpendable({ chain, feed }: Venue, trader: Address): Promise<bigint> {
  const collateral = referenceCollateral(feed.config());
  if (collateral === null) return 0n;
  const { tokens } = await chain.accountFacts(trader, [collateral.address]).catch((cause: unknown) => {
    throw new GatewayError('UPSTREAM_UNAVAILABLE', { upstream: 'node' }, { cause });
  });
  const { balance = 0n, allowance = 0n } = tokens[0] ?? {};
  return collateralToUsd(balance < allowance ? balance : allowance, collateral);
}

/** A trade whose collateral or market is unknown keeps its row: clients take a missing row for a closed position. */
function held(venue: Venue, own: OpenTrade, block: BlockHead, entryPriceUsd: bigint | undefined): HeldTrade {
  const { feed } = venue;
  const { trade, fees } = own;
  const collateral = unitsOf(feed.config(), own);
  const usd = (units: bigint): bigint => collateralToUsd(units, collateral);
  const money = moneyOf(venue, own, { block, price: feed.lastPrice(trade.pairIndex) });
  const realized = fees.realizedPnlCollateral - fees.realizedTradingFeesCollateral;
  return {
    tradeIndex: trade.index,
    pairIndex: trade.pairIndex,
    long: trade.long,
    base: entryBase({ ...figuresOf(trade), ...(entryPriceUsd === undefined ? {} : { entryPriceUsd }) }, collateral),
    entry: trade.openPrice,
    mark: money.mark,
    collateralUsd: usd(trade.collateralAmount),
    pnlUsd: usd(money.gross),
    fundingUsd: usd(money.funding + money.borrowing),
    realizedUsd: usd(realized),
    liquidation: money.liquidation,
  };
}
