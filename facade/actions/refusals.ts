import { z } from 'zod';
import { userSigned } from '../signing/user-signed.js';
import { l1Row, refusedByType, userRow, type ActionRow } from './action-row.js';

/**
 * Known actions that are refused: no handler of the facade moves funds. Custody, vaults and sub-accounts are refused by their type
 * alone, the rest after the signature was checked.
 */

export const CUSTODY = 'Custody actions are not available: funds never leave the wallet.';
const VAULTS = 'Vaults are not supported.';
const SUB_ACCOUNTS = 'Sub-accounts are not supported.';
const STAKING = 'Staking is not supported.';
const MULTI_SIG = 'Multi-sig is not supported.';
const UNSUPPORTED = 'Unsupported action.';
const TWAP = 'TWAP orders are not supported.';

const NETWORK = 'string hyperliquidChain';
const NONCE = 'uint64 nonce';

const CUSTODY_TYPES = [
  userSigned('UsdSend', NETWORK, 'string destination', 'string amount', 'uint64 time'),
  userSigned('Withdraw', NETWORK, 'string destination', 'string amount', 'uint64 time'),
  userSigned('SpotSend', NETWORK, 'string destination', 'string token', 'string amount', 'uint64 time'),
  userSigned('UsdClassTransfer', NETWORK, 'string amount', 'bool toPerp', NONCE),
  userSigned(
    'SendAsset',
    NETWORK,
    'string destination',
    'string sourceDex',
    'string destinationDex',
    'string token',
    'string amount',
    'string fromSubAccount',
    NONCE,
  ),
  userSigned(
    'SendToEvmWithData',
    NETWORK,
    'string token',
    'string amount',
    'string sourceDex',
    'string destinationRecipient',
    'string addressEncoding',
    'uint32 destinationChainId',
    'uint64 gasLimit',
    'bytes data',
    NONCE,
  ),
];

const STAKING_TYPES = [
  userSigned('TokenDelegate', NETWORK, 'address validator', 'uint64 wei', 'bool isUndelegate', NONCE),
  userSigned('CDeposit', NETWORK, 'uint64 wei', NONCE),
  userSigned('CWithdraw', NETWORK, 'uint64 wei', NONCE),
  userSigned('LinkStakingUser', NETWORK, 'address user', 'bool isFinalize', NONCE),
  userSigned('StakingLinkDisableTradingUser', NETWORK, 'address tradingUser', NONCE),
];

/** An action is named like its signed type with a lower-case first letter; one has a name of its own. */
const OWN_NAMES: Readonly<Record<string, string>> = { Withdraw: 'withdraw3' };
const actionName = (name: string): string => OWN_NAMES[name] ?? `${name.charAt(0).toLowerCase()}${name.slice(1)}`;

/** Hashed as sent, so they need no canonical form. */
const L1_REFUSALS: Readonly<Record<string, readonly string[]>> = {
  [CUSTODY]: ['agentSendAsset'],
  [VAULTS]: ['vaultTransfer', 'createVault', 'vaultModify', 'vaultDistribute'],
  [SUB_ACCOUNTS]: ['createSubAccount', 'subAccountModify', 'subAccountTransfer', 'subAccountSpotTransfer'],
  [STAKING]: ['claimRewards'],
  'Asset not strict isolated': ['topUpIsolatedOnlyMargin'],
  'Request weight cannot be reserved here.': ['reserveRequestWeight'],
  [UNSUPPORTED]: [
    'borrowLend',
    'hip3LiquidatorTransfer',
    'gossipPriorityBid',
    'userOutcome',
    'spotDeploy',
    'perpDeploy',
    'finalizeEvmContract',
    'activateOutcomeDeployer',
    'authorizeAqav2Role',
    'CSignerAction',
    'CValidatorAction',
    'validatorL1Stream',
  ],
};

const BY_TYPE: ReadonlySet<string> = new Set([CUSTODY, VAULTS, SUB_ACCOUNTS]);

const Twap = z.object({ a: z.int(), b: z.boolean(), s: z.string(), r: z.boolean(), m: z.int(), t: z.boolean() });

export const REFUSED_ACTIONS: readonly ActionRow[] = [
  ...CUSTODY_TYPES.map((signed) => refusedByType(userRow(actionName(signed.name), signed, { kind: 'refused', text: CUSTODY }), CUSTODY)),
  ...STAKING_TYPES.map((signed) => userRow(actionName(signed.name), signed, { kind: 'refused', text: STAKING })),
  userRow('convertToMultiSigUser', userSigned('ConvertToMultiSigUser', NETWORK, 'string signers', NONCE), {
    kind: 'refused',
    text: MULTI_SIG,
  }),
  { scheme: 'multi-sig', type: 'multiSig', verdict: { kind: 'refused', text: MULTI_SIG } },
  ...Object.entries(L1_REFUSALS).flatMap(([text, types]) =>
    types.map((type): ActionRow => {
      const row: ActionRow = { scheme: 'l1', type, schema: 'any', verdict: { kind: 'refused', text } };
      return BY_TYPE.has(text) ? refusedByType(row, text) : row;
    }),
  ),
  l1Row('twapOrder', z.object({ type: z.literal('twapOrder'), twap: Twap }), { kind: 'refused-status', type: 'twapOrder', text: TWAP }),
  l1Row('twapCancel', z.object({ type: z.literal('twapCancel'), a: z.int(), t: z.int() }), {
    kind: 'refused-status',
    type: 'twapCancel',
    text: TWAP,
  }),
];
