import { z } from 'zod';

/** What clients of Hyperliquid expect of every answer, written from how they read it. Nothing may be missing, and nothing be added. */

/** Always with a point. */
const Dec = z.string().regex(/^-?(?:0|[1-9]\d*)\.\d+$/);
const Positive = Dec.refine((text) => Number(text) > 0, 'must be above zero');
const Int = z.int().nonnegative();
const Address = z.string().regex(/^0x[0-9a-f]{40}$/);
const Hash = z.string().regex(/^0x[0-9a-fA-F]{64}$/);
const Coin = z.string().regex(/^k?[A-Z0-9]{1,15}$/);
const Cloid = z.string().regex(/^0x[0-9a-f]{32}$/);
const Side = z.enum(['B', 'A']);

const MarginTable = z.strictObject({
  description: z.string(),
  marginTiers: z.array(z.strictObject({ lowerBound: Dec, maxLeverage: Int.min(1) })).min(1),
});

export const Meta = z
  .strictObject({
    universe: z.array(
      z.strictObject({
        szDecimals: Int.max(5),
        name: Coin,
        maxLeverage: Int.min(1),
        marginTableId: Int,
        onlyIsolated: z.literal(true).optional(),
        isDelisted: z.literal(true).optional(),
      }),
    ),
    marginTables: z.array(z.tuple([Int, MarginTable])),
    collateralToken: z.literal(0),
  })
  .refine(({ universe }) => new Set(universe.map(({ name }) => name.toLowerCase())).size === universe.length, 'names must be unique')
  .refine(
    ({ universe, marginTables }) => universe.every(({ marginTableId }) => marginTables.some(([id]) => id === marginTableId)),
    'every margin table must be there',
  );

export const Ctx = z.strictObject({
  prevDayPx: Dec,
  dayNtlVlm: Dec,
  markPx: Dec,
  midPx: Dec.nullable(),
  funding: Dec,
  openInterest: Dec,
  premium: Dec.nullable(),
  oraclePx: Dec,
  impactPxs: z.tuple([Dec, Dec]).nullable(),
  dayBaseVlm: Dec,
});

const SpotMeta = z.strictObject({
  universe: z.array(z.strictObject({ tokens: z.tuple([Int, Int]), name: z.string(), index: Int, isCanonical: z.boolean() })).min(1),
  tokens: z
    .array(
      z.strictObject({
        name: z.string(),
        szDecimals: Int,
        weiDecimals: Int,
        index: Int,
        tokenId: Cloid,
        isCanonical: z.boolean(),
        evmContract: z.null(),
        fullName: z.string().nullable(),
        deployerTradingFeeShare: Dec,
      }),
    )
    .refine(([first]) => first?.name === 'USDC' && first.index === 0, 'token 0 must be USDC'),
});

export const SpotCtx = z.strictObject({
  prevDayPx: Dec,
  dayNtlVlm: Dec,
  markPx: Dec,
  midPx: Dec.nullable(),
  circulatingSupply: Dec,
  coin: z.string(),
  totalSupply: Dec,
  dayBaseVlm: Dec,
});

const Leverage = z.union([
  z.strictObject({ type: z.literal('cross'), value: Int.min(1) }),
  z.strictObject({ type: z.literal('isolated'), value: Int.min(1), rawUsd: Dec }),
]);

const Margin = z.strictObject({ accountValue: Dec, totalNtlPos: Dec, totalRawUsd: Dec, totalMarginUsed: Dec });

export const ClearinghouseState = z.strictObject({
  marginSummary: Margin,
  crossMarginSummary: Margin,
  crossMaintenanceMarginUsed: Dec,
  withdrawable: Dec,
  assetPositions: z.array(
    z.strictObject({
      type: z.literal('oneWay'),
      position: z.strictObject({
        coin: Coin,
        szi: Dec.refine((text) => Number(text) !== 0, 'a closed position is absent'),
        leverage: Leverage,
        entryPx: Positive,
        positionValue: Positive,
        unrealizedPnl: Dec,
        returnOnEquity: Dec,
        liquidationPx: Positive.nullable(),
        marginUsed: Dec,
        maxLeverage: Int.min(1),
        cumFunding: z.strictObject({ allTime: Dec, sinceOpen: Dec, sinceChange: Dec }),
      }),
    }),
  ),
  time: Int,
});

export const OpenOrder = z.strictObject({
  coin: Coin,
  side: Side,
  limitPx: Dec,
  sz: Dec,
  oid: Int.min(1),
  timestamp: Int,
  origSz: Dec,
  cloid: Cloid.optional(),
  reduceOnly: z.literal(true).optional(),
});

interface FrontendOrderShape {
  coin: string;
  side: 'B' | 'A';
  limitPx: string;
  sz: string;
  oid: number;
  timestamp: number;
  origSz: string;
  triggerCondition: string;
  isTrigger: boolean;
  triggerPx: string;
  askedTriggerPx?: string | undefined;
  children: FrontendOrderShape[];
  isPositionTpsl: boolean;
  reduceOnly: boolean;
  orderType: string;
  tif: string | null;
  cloid: string | null;
}

export const FrontendOrder: z.ZodType<FrontendOrderShape> = z.lazy(() =>
  z.strictObject({
    coin: Coin,
    side: Side,
    limitPx: Dec,
    sz: Dec,
    oid: Int.min(1),
    timestamp: Int,
    origSz: Dec,
    triggerCondition: z.string().regex(/^(?:N\/A|Triggered|Price (?:above|below) \d+(?:\.\d+)?)$/),
    isTrigger: z.boolean(),
    triggerPx: Dec,
    askedTriggerPx: Dec.optional(),
    children: z.array(FrontendOrder),
    isPositionTpsl: z.boolean(),
    reduceOnly: z.boolean(),
    orderType: z.enum(['Market', 'Limit', 'Stop Market', 'Stop Limit', 'Take Profit Market', 'Take Profit Limit']),
    tif: z.enum(['Gtc', 'Ioc', 'Alo', 'FrontendMarket', 'LiquidationMarket']).nullable(),
    cloid: Cloid.nullable(),
  }),
);

/** Only words that every client knows. */
const Status = z.enum([
  'open',
  'filled',
  'canceled',
  'rejected',
  'reduceOnlyCanceled',
  'reduceOnlyRejected',
  'siblingFilledCanceled',
  'liquidatedCanceled',
  'scheduledCancel',
]);
export const HistoricalOrder = z.strictObject({ order: FrontendOrder, status: Status, statusTimestamp: Int });

export const Fill = z.strictObject({
  coin: Coin,
  px: Positive,
  sz: Positive,
  side: Side,
  time: Int,
  startPosition: Dec,
  dir: z.enum(['Open Long', 'Open Short', 'Close Long', 'Close Short', 'Long > Short', 'Short > Long']),
  closedPnl: Dec,
  hash: Hash,
  oid: Int.min(1),
  crossed: z.boolean(),
  fee: Dec,
  builderFee: Dec.optional(),
  tid: Int,
  feeToken: z.literal('USDC'),
  twapId: z.null(),
  cloid: Cloid.optional(),
  liquidation: z.strictObject({ liquidatedUser: Address.optional(), markPx: Dec, method: z.enum(['market', 'backstop']) }).optional(),
});

const Level = z.strictObject({ px: Positive, sz: Dec, n: Int });
const Side20 = z.array(Level).min(1).max(20);
export const L2Book = z
  .strictObject({ coin: Coin, time: Int, levels: z.tuple([Side20, Side20]) })
  .refine(({ levels: [bids, asks] }) => Number(bids[0]?.px) < Number(asks[0]?.px), 'bid and ask must be apart');

export const Candle = z.strictObject({
  t: Int,
  T: Int,
  s: Coin,
  i: z.string(),
  o: Positive,
  c: Positive,
  h: Positive,
  l: Positive,
  v: Dec,
  n: Int,
});

const Trade = z.strictObject({
  coin: Coin,
  side: Side,
  px: Positive,
  sz: Dec,
  time: Int,
  hash: Hash,
  tid: Int,
  users: z.tuple([Address, Address]),
});

const Discount = z.strictObject({ bpsOfMaxSupply: Dec, discount: Dec });
const UserFees = z.strictObject({
  dailyUserVlm: z.array(z.strictObject({ date: z.string().regex(/^\d{4}-\d\d-\d\d$/), userCross: Dec, userAdd: Dec, exchange: Dec })),
  feeSchedule: z.strictObject({
    cross: Dec,
    add: Dec,
    spotCross: Dec,
    spotAdd: Dec,
    tiers: z.strictObject({ vip: z.array(z.unknown()), mm: z.array(z.unknown()) }),
    referralDiscount: Dec,
    stakingDiscountTiers: z.array(Discount),
  }),
  userCrossRate: Positive,
  userAddRate: Positive,
  userSpotCrossRate: Dec,
  userSpotAddRate: Dec,
  activeReferralDiscount: Dec,
  trial: z.null(),
  feeTrialEscrow: Dec,
  nextTrialAvailableTimestamp: z.null(),
  stakingLink: z.null(),
  activeStakingDiscount: Discount,
});

const Points = z.array(z.tuple([Int, Dec]));
const Portfolio = z.array(
  z.tuple([
    z.enum(['day', 'week', 'month', 'allTime', 'perpDay', 'perpWeek', 'perpMonth', 'perpAllTime']),
    z.strictObject({ accountValueHistory: Points, pnlHistory: Points, vlm: Dec }),
  ]),
);

const WebData2 = z.strictObject({
  clearinghouseState: ClearinghouseState,
  leadingVaults: z.tuple([]),
  totalVaultEquity: Dec,
  openOrders: z.array(FrontendOrder),
  agentAddress: Address.nullable(),
  agentValidUntil: Int.nullable(),
  cumLedger: Dec,
  meta: Meta,
  assetCtxs: z.array(Ctx),
  serverTime: Int,
  isVault: z.literal(false),
  user: Address,
  twapStates: z.tuple([]),
  spotState: z.strictObject({ balances: z.tuple([]) }).optional(),
  spotAssetCtxs: z.tuple([]),
  perpsAtOpenInterestCap: z.array(Coin).optional(),
});

const Nothing = z.tuple([]);
const EMPTY = [
  'subAccounts',
  'subAccounts2',
  'userVaultEquities',
  'leadingVaults',
  'vaultSummaries',
  'delegations',
  'delegatorHistory',
  'delegatorRewards',
  'userTwapSliceFills',
  'userTwapSliceFillsByTime',
  'twapHistory',
  'approvedBuilders',
  'liquidatable',
  'perpCategories',
  'perpConciseAnnotations',
  'validatorSummaries',
  'validatorL1Votes',
  'allBorrowLendReserveStates',
  'gossipRootIps',
  'outcomeTemplates',
  'userBorrowLendInterest',
  'userNonFundingLedgerUpdates',
];
const NULL = ['vaultDetails', 'userToMultiSigSigners', 'perpDexLimits', 'perpAnnotation', 'isVip', 'settledOutcome'];
/** What is the same over HTTP and on the socket. */
export const FundingFields = { coin: Coin, usdc: Dec, szi: Dec, fundingRate: Dec, nSamples: z.null() };
const Auction = z.strictObject({
  currentGas: z.null(),
  durationSeconds: Int,
  endGas: z.null(),
  startGas: Dec,
  startTimeSeconds: Int,
});

/** By request type. */
export const HL_INFO_SCHEMAS: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>([
  ['meta', Meta],
  ['spotMeta', SpotMeta],
  [
    'metaAndAssetCtxs',
    z.tuple([Meta, z.array(Ctx)]).refine(([{ universe }, contexts]) => universe.length === contexts.length, 'one context per market'),
  ],
  ['spotMetaAndAssetCtxs', z.tuple([SpotMeta, z.array(SpotCtx)])],
  ['allMids', z.record(Coin, Positive)],
  ['clearinghouseState', ClearinghouseState],
  ['perpDexs', z.tuple([z.null()])],
  ['allPerpMetas', z.tuple([Meta])],
  ['userAbstraction', z.literal('disabled')],
  ['openOrders', z.array(OpenOrder)],
  ['frontendOpenOrders', z.array(FrontendOrder)],
  [
    'orderStatus',
    z.union([z.strictObject({ status: z.literal('order'), order: HistoricalOrder }), z.strictObject({ status: z.literal('unknownOid') })]),
  ],
  ['userFills', z.array(Fill).max(2000)],
  ['userFillsByTime', z.array(Fill).max(2000)],
  ['l2Book', L2Book.nullable()],
  ['candleSnapshot', z.array(Candle).max(5000)],
  ['outcomeMeta', z.strictObject({ outcomes: Nothing, questions: Nothing })],
  ['spotClearinghouseState', z.strictObject({ balances: Nothing })],
  ['historicalOrders', z.array(HistoricalOrder).max(2000)],
  [
    'userFunding',
    z.array(z.strictObject({ time: Int, hash: Hash, delta: z.strictObject({ type: z.literal('funding'), ...FundingFields }) })).max(500),
  ],
  ['fundingHistory', z.array(z.strictObject({ coin: Coin, fundingRate: Dec, premium: Dec, time: Int })).max(500)],
  ['recentTrades', z.array(Trade)],
  ['userFees', UserFees],
  ['userRateLimit', z.strictObject({ cumVlm: Dec, nRequestsUsed: Int, nRequestsCap: Int, nRequestsSurplus: Int })],
  [
    'activeAssetData',
    z
      .strictObject({
        user: Address,
        coin: Coin,
        leverage: Leverage,
        maxTradeSzs: z.tuple([Dec, Dec]),
        availableToTrade: z.tuple([Dec, Dec]),
        markPx: Dec,
      })
      .nullable(),
  ],
  ['maxBuilderFee', z.literal(0)],
  [
    'userRole',
    z.union([
      z.strictObject({ role: z.enum(['missing', 'user']) }),
      z.strictObject({ role: z.literal('agent'), data: z.strictObject({ user: Address }) }),
    ]),
  ],
  ['extraAgents', z.array(z.strictObject({ address: Address, name: z.string().min(1), validUntil: Int }))],
  ['exchangeStatus', z.strictObject({ time: Int, specialStatuses: z.null() })],
  [
    'predictedFundings',
    z.array(
      z.tuple([
        Coin,
        z.tuple([
          z.tuple([z.literal('HlPerp'), z.strictObject({ fundingRate: Dec, nextFundingTime: Int, fundingIntervalHours: z.literal(1) })]),
        ]),
      ]),
    ),
  ],
  ['perpsAtOpenInterestCap', z.array(Coin)],
  ['portfolio', Portfolio],
  ['webData2', WebData2],
  ['marginTable', MarginTable.nullable()],
  ['maxMarketOrderNtls', z.array(z.tuple([Int, Dec]))],
  [
    'delegatorSummary',
    z.strictObject({ delegated: Dec, undelegated: Dec, totalPendingWithdrawal: Dec, nPendingWithdrawals: z.literal(0) }),
  ],
  [
    'referral',
    z.strictObject({
      referredBy: z.strictObject({ referrer: Address, code: Address }).nullable(),
      cumVlm: Dec,
      unclaimedRewards: Dec,
      claimedRewards: Dec,
      builderRewards: Dec,
      referrerState: z.strictObject({ stage: z.literal('needToTrade'), data: z.strictObject({ required: Dec }) }),
      rewardHistory: Nothing,
      tokenToState: Nothing,
    }),
  ],
  ['legalCheck', z.strictObject({ acceptedTerms: z.literal(true), userAllowed: z.literal(true), restrictions: z.literal('n') })],
  [
    'preTransferCheck',
    z.strictObject({ fee: Dec, isSanctioned: z.literal(false), userExists: z.literal(true), userHasSentTx: z.literal(true) }),
  ],
  ['userDexAbstraction', z.literal(false)],
  ['borrowLendUserState', z.strictObject({ tokenToState: Nothing, health: z.literal('healthy'), healthFactor: z.null() })],
  [
    'borrowLendReserveState',
    z.strictObject({
      borrowYearlyRate: Dec,
      supplyYearlyRate: Dec,
      balance: Dec,
      utilization: Dec,
      oraclePx: Dec,
      ltv: Dec,
      totalSupplied: Dec,
      totalBorrowed: Dec,
    }),
  ],
  [
    'alignedQuoteTokenInfo',
    z.strictObject({
      isAligned: z.literal(false),
      firstAlignedTime: Int,
      evmMintedSupply: Dec,
      dailyAmountOwed: Nothing,
      predictedRate: Dec,
    }),
  ],
  ['perpDeployAuctionStatus', Auction],
  ['spotPairDeployAuctionStatus', Auction],
  ['spotDeployState', z.strictObject({ states: Nothing, gasAuction: Auction })],
  ['gossipPriorityAuctionStatus', z.tuple([Nothing, Nothing])],
  ['perpDexStatus', z.strictObject({ totalNetDeposit: Dec })],
  ['usdcRouting', z.strictObject({ depositRoute: z.literal('bridge'), withdrawalRoute: z.literal('bridge') })],
  [
    'tokenDetails',
    z.strictObject({
      name: z.string(),
      maxSupply: Dec,
      totalSupply: Dec,
      circulatingSupply: Dec,
      szDecimals: Int,
      weiDecimals: Int,
      midPx: Dec,
      markPx: Dec,
      prevDayPx: Dec,
      genesis: z.null(),
      deployer: z.null(),
      deployGas: z.null(),
      deployTime: z.null(),
      seededUsdc: Dec,
      nonCirculatingUserBalances: Nothing,
      futureEmissions: Dec,
    }),
  ],
  ...EMPTY.map((type): [string, z.ZodType] => [type, Nothing]),
  ...NULL.map((type): [string, z.ZodType] => [type, z.null()]),
]);

/** Throws with every fault when an answer is not what the type promises; a type without a schema is a fault too. */
export function checkInfoAnswer(type: string, body: unknown): void {
  const schema = HL_INFO_SCHEMAS.get(type);
  if (!schema) throw new Error(`no schema describes the answer to ${type}`);
  const checked = schema.safeParse(body);
  if (!checked.success) throw new Error(`${type}: ${z.prettifyError(checked.error)}\n${JSON.stringify(body).slice(0, 2000)}`);
}
