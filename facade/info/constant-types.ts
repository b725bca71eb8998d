import { z } from 'zod';
import { ZERO_TEXT } from '../format.js';
import { Dex, Nothing, User, infoType, type InfoType } from './info-type.js';

/** Features that do not exist here, answered in the shape that clients need to continue. */

const OfUser = z.object({ user: User });

/** Cached as bytes only if the request names no user: otherwise there would be an entry per user. */
const constant = (type: string, fields: z.ZodType, answer: unknown): InfoType =>
  infoType({ type, fields, cached: fields === Nothing, answer: () => answer });

const token = (name: string, index: number) => ({
  name,
  szDecimals: 2,
  weiDecimals: 8,
  index,
  tokenId: `0x${index.toString(16).padStart(32, '0')}`,
  isCanonical: index === 0,
  evmContract: null,
  fullName: null,
  deployerTradingFeeShare: ZERO_TEXT,
});

/** There is no spot market. Some clients do not start with an empty list, so it has one pair that takes no orders. */
const SPOT_META = {
  universe: [{ tokens: [1, 0], name: '@0', index: 0, isCanonical: false }],
  tokens: [token('USDC', 0), token('NONE', 1)],
};
export const SPOT_CONTEXT = {
  prevDayPx: '1.0',
  dayNtlVlm: ZERO_TEXT,
  markPx: '1.0',
  midPx: null,
  circulatingSupply: ZERO_TEXT,
  coin: '@0',
  totalSupply: ZERO_TEXT,
  dayBaseVlm: ZERO_TEXT,
};

const TokenIndex = z.int().nonnegative();
const TokenId = z
  .string()
  .regex(/^0x[0-9a-fA-F]{32}$/)
  .transform((text) => text.toLowerCase());

/** A token has a name and no supply: there is no spot market. */
const tokenDetails = (tokenId: string) => ({
  name: SPOT_META.tokens.find((known) => known.tokenId === tokenId)?.name ?? '',
  maxSupply: ZERO_TEXT,
  totalSupply: ZERO_TEXT,
  circulatingSupply: ZERO_TEXT,
  szDecimals: 2,
  weiDecimals: 8,
  midPx: ZERO_TEXT,
  markPx: ZERO_TEXT,
  prevDayPx: ZERO_TEXT,
  genesis: null,
  deployer: null,
  deployGas: null,
  deployTime: null,
  seededUsdc: ZERO_TEXT,
  nonCirculatingUserBalances: [],
  futureEmissions: ZERO_TEXT,
});

/** Nothing is deployed here, so no auction runs. */
const NO_AUCTION = { currentGas: null, durationSeconds: 0, endGas: null, startGas: ZERO_TEXT, startTimeSeconds: 0 };

/** Nothing is lent. */
const NO_RESERVE = {
  borrowYearlyRate: ZERO_TEXT,
  supplyYearlyRate: ZERO_TEXT,
  balance: ZERO_TEXT,
  utilization: ZERO_TEXT,
  oraclePx: ZERO_TEXT,
  ltv: ZERO_TEXT,
  totalSupplied: ZERO_TEXT,
  totalBorrowed: ZERO_TEXT,
};

const NO_ALIGNMENT = {
  isAligned: false,
  firstAlignedTime: 0,
  evmMintedSupply: ZERO_TEXT,
  dailyAmountOwed: [],
  predictedRate: ZERO_TEXT,
};

const EMPTY_LISTS = [
  'subAccounts',
  'subAccounts2',
  'userVaultEquities',
  'leadingVaults',
  'delegations',
  'delegatorHistory',
  'delegatorRewards',
  'userTwapSliceFills',
  'userTwapSliceFillsByTime',
  'twapHistory',
  'approvedBuilders',
  'userBorrowLendInterest',
] as const;
const EMPTY_PUBLIC_LISTS = [
  'vaultSummaries',
  'liquidatable',
  'perpCategories',
  'perpConciseAnnotations',
  'validatorSummaries',
  'validatorL1Votes',
  'allBorrowLendReserveStates',
  'gossipRootIps',
  'outcomeTemplates',
] as const;
const NULLS = ['vaultDetails', 'perpDexLimits', 'perpAnnotation', 'settledOutcome'] as const;
const NULLS_OF_USER = ['userToMultiSigSigners', 'isVip'] as const;

export const CONSTANT_TYPES: readonly InfoType[] = [
  constant('spotMeta', Nothing, SPOT_META),
  constant('spotMetaAndAssetCtxs', Nothing, [SPOT_META, [SPOT_CONTEXT]]),
  constant('perpDexs', Nothing, [null]),
  constant('outcomeMeta', Nothing, { outcomes: [], questions: [] }),
  constant('userAbstraction', OfUser, 'disabled'),
  constant('spotClearinghouseState', OfUser, { balances: [] }),
  constant('maxBuilderFee', OfUser.extend({ builder: User }), 0),
  ...EMPTY_LISTS.map((type) => constant(type, OfUser, [])),
  ...EMPTY_PUBLIC_LISTS.map((type) => constant(type, Nothing, [])),
  ...NULLS.map((type) => constant(type, Nothing, null)),
  ...NULLS_OF_USER.map((type) => constant(type, OfUser, null)),
  constant('delegatorSummary', OfUser, {
    delegated: ZERO_TEXT,
    undelegated: ZERO_TEXT,
    totalPendingWithdrawal: ZERO_TEXT,
    nPendingWithdrawals: 0,
  }),
  constant('userDexAbstraction', OfUser, false),
  constant('borrowLendUserState', OfUser, { tokenToState: [], health: 'healthy', healthFactor: null }),
  constant('borrowLendReserveState', z.object({ token: TokenIndex }), NO_RESERVE),
  constant('alignedQuoteTokenInfo', z.object({ token: TokenIndex }), NO_ALIGNMENT),
  constant('perpDeployAuctionStatus', Nothing, NO_AUCTION),
  constant('spotPairDeployAuctionStatus', Nothing, NO_AUCTION),
  constant('spotDeployState', OfUser, { states: [], gasAuction: NO_AUCTION }),
  constant('gossipPriorityAuctionStatus', Nothing, [[], []]),
  constant('perpDexStatus', z.object({ dex: Dex }), { totalNetDeposit: ZERO_TEXT }),
  constant('usdcRouting', Nothing, { depositRoute: 'bridge', withdrawalRoute: 'bridge' }),
  infoType({ type: 'tokenDetails', fields: z.object({ tokenId: TokenId }), answer: (_, { tokenId }) => tokenDetails(tokenId) }),
  constant('legalCheck', OfUser, { acceptedTerms: true, userAllowed: true, restrictions: 'n' }),
  constant('preTransferCheck', OfUser, { fee: ZERO_TEXT, isSanctioned: false, userExists: true, userHasSentTx: true }),
];
