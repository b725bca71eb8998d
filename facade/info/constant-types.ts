import { z } from 'zod';
import { ZERO_TEXT } from '../format.js';
import { Nothing, User, infoType, type InfoType } from './info-type.js';

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
const SPOT_CONTEXT = {
  prevDayPx: '1.0',
  dayNtlVlm: ZERO_TEXT,
  markPx: '1.0',
  midPx: null,
  circulatingSupply: ZERO_TEXT,
  coin: '@0',
  totalSupply: ZERO_TEXT,
  dayBaseVlm: ZERO_TEXT,
};

const REFERRAL = {
  referredBy: null,
  cumVlm: ZERO_TEXT,
  unclaimedRewards: ZERO_TEXT,
  claimedRewards: ZERO_TEXT,
  builderRewards: ZERO_TEXT,
  referrerState: { stage: 'needToTrade', data: { required: '10000.0' } },
  rewardHistory: [],
  tokenToState: [],
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
const EMPTY_PUBLIC_LISTS = ['vaultSummaries', 'liquidatable', 'perpCategories', 'perpConciseAnnotations', 'validatorSummaries'] as const;
const NULLS = ['vaultDetails', 'perpDexLimits', 'perpAnnotation', 'settledOutcome'] as const;
const NULLS_OF_USER = ['userToMultiSigSigners', 'isVip', 'userDexAbstraction'] as const;

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
  constant('referral', OfUser, REFERRAL),
  constant('legalCheck', OfUser, { acceptedTerms: true, userAllowed: true, restrictions: 'n' }),
  constant('preTransferCheck', OfUser, { fee: ZERO_TEXT, isSanctioned: false, userExists: true, userHasSentTx: true }),
];
