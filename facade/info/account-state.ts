import type { OpenTrade, OpenTrades, TokenFunds } from '../../core/ports/account-chain.js';
import { fromNode } from '../../core/ports/chain.js';
import { heldInOrders, moneyOf, newestBlock, openTradesQuery, unitsOf, wholeTrades } from '../../core/account/list-positions.js';
import { figuresOf } from '../../core/domain/interpret-executions.js';
import { collateralToUsd, entryBase, positionSizeCollateral } from '../../core/domain/pricing/size.js';
import { maximum, minimum } from '../../core/domain/pricing/units.js';
import type { LeverageSetting } from '../../core/ports/stores/exchange.js';
import type { UnminedOpening } from '../../core/ports/stores/orders.js';
import { GatewayError } from '../../core/errors.js';
import type { Gateway, Venue } from '../../core/gateway.js';
import { type Collateral, referenceCollateral } from '../../core/domain/market.js';
import type { Address, BlockHead } from '../../core/types.js';

/** One trade of the contract in base units (1e18), prices (1e10) and USD (1e18). */
export interface ValuedTrade {
  readonly tradeIndex: number;
  readonly pairIndex: number;
  readonly long: boolean;
  readonly base: bigint;
  readonly entry: bigint;
  readonly mark: bigint;
  readonly collateralUsd: bigint;
  /** Collateral times leverage, as the contract keeps it. */
  readonly notionalUsd: bigint;
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
  readonly trades: readonly ValuedTrade[];
  /** The wallet's balance of the collateral of facade trades, whatever the allowance. */
  readonly walletUsd: bigint;
  /** Collateral of resting orders and of requests, in every collateral. */
  readonly inOrdersUsd: bigint;
  /** What the next opening can use: the balance up to the allowance, less what openings take that are not mined yet. */
  readonly spendableUsd: bigint;
  readonly settings: ReadonlyMap<number, LeverageSetting>;
}

export const NO_ACCOUNT: AccountState = { trades: [], walletUsd: 0n, inOrdersUsd: 0n, spendableUsd: 0n, settings: new Map() };

export interface AccountReader {
  of(venue: Venue, trader: Address): Promise<AccountState>;
}

/** Callers that ask while an account is read share the result. */
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

/** The part of an account that does not depend on prices of markets, all at one block. */
export interface AccountFacts extends Omit<AccountState, 'trades'> {
  readonly open: OpenTrades;
  /** 1e8, by trade: the collateral's price at opening, which its size is based on. */
  readonly entryPrices: ReadonlyMap<number, bigint>;
}

/**
 * Sums of an account are read from the chain at one block, so that collateral on its way from the wallet to a trade is never missing or counted
 * twice. Only what is not in that block comes from the database: openings that the relayer may still send.
 */
export async function readAccount({ store }: Gateway, venue: Venue, trader: Address): Promise<AccountFacts> {
  const { slug } = venue.definition;
  const { collaterals } = venue.feed.config();
  const paid = referenceCollateral({ collaterals });
  const [known, settings, unmined] = await Promise.all([
    store.account.openPositions(slug, trader),
    store.facade.leverage.of(slug, trader),
    paid === null ? null : store.orders.unminedOpenings(slug, trader, paid.index),
  ]);
  const block = await blockSince(venue, unmined?.indexedBlock ?? null);
  const whole = await fromNode(
    venue.chain.wholeAccount({
      ...openTradesQuery(venue, trader, { block, known }),
      tokens: paid === null ? [] : [paid.address],
      priced: collaterals.map(({ index }) => index),
    }),
  );
  // At the contract's prices of this block, as trades are: otherwise an opening would move the sum.
  const usdOf = (units: bigint, collateral: Collateral): bigint =>
    collateralToUsd(units, { ...collateral, priceUsd: whole.pricesUsd.get(collateral.index) ?? collateral.priceUsd });
  const inOrders = heldInOrders(venue, whole);
  const [funds] = whole.tokens;
  // A client takes a wallet of 0 for a loss.
  if (paid !== null && !funds) throw new GatewayError('UPSTREAM_UNAVAILABLE', { upstream: `token ${paid.symbol}` });
  const { balance, allowance } = funds ?? { balance: 0n, allowance: 0n };
  const waiting = (unmined?.openings ?? []).filter(({ minedBlock }) => minedBlock === null || minedBlock > block.number);
  return {
    open: wholeTrades(venue, trader, { read: whole, known }),
    entryPrices: new Map(
      known.flatMap(({ tradeIndex, position: { entryPriceUsd } }) => (entryPriceUsd === undefined ? [] : [[tradeIndex, entryPriceUsd]])),
    ),
    settings,
    walletUsd: paid === null ? 0n : usdOf(balance, paid),
    inOrdersUsd: collaterals.reduce((sum, collateral) => sum + usdOf(inOrders.get(collateral.index) ?? 0n, collateral), 0n),
    spendableUsd: paid === null ? 0n : usdOf(spendable({ balance, allowance }, waiting), paid),
  };
}

/** The newest block, and never one before the index: an opening of a later block would neither be in the balance nor be waiting. */
async function blockSince(venue: Venue, indexedBlock: bigint | null): Promise<BlockHead> {
  const newest = newestBlock(venue);
  return indexedBlock === null || indexedBlock <= newest.number ? newest : fromNode(venue.chain.head());
}

/** As openings are checked before they are sent: an opening can take less from the wallet than from the allowance. */
function spendable({ balance, allowance }: TokenFunds, waiting: readonly UnminedOpening[]): bigint {
  const left = (have: bigint, of: 'takes' | 'amount'): bigint => waiting.reduce((rest, opening) => rest - opening[of], have);
  return maximum(minimum(left(balance, 'takes'), left(allowance, 'amount')), 0n);
}

/** Values an account at current prices. */
export const priceAccount = (venue: Venue, { open, entryPrices, ...sums }: AccountFacts): AccountState => ({
  ...sums,
  trades: open.trades.map((own) => held(venue, own, open.block, entryPrices.get(own.trade.index))),
});

/** A trade whose collateral or market is unknown keeps its row: clients take a missing row for a closed position. */
function held(venue: Venue, own: OpenTrade, block: BlockHead, entryPriceUsd: bigint | undefined): ValuedTrade {
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
    notionalUsd: usd(positionSizeCollateral(figuresOf(trade))),
    pnlUsd: usd(money.gross),
    fundingUsd: usd(money.funding + money.borrowing),
    realizedUsd: usd(realized),
    liquidation: money.liquidation,
  };
}
