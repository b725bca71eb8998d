import { z } from 'zod';
import { userSigned } from '../signing/user-signed.js';
import { l1Row, userRow, type ActionRow } from './action-row.js';
import { CUSTODY } from './refusals.js';

/** Accepted because clients send them by default, or because they change nothing here. The nonce is used all the same. */

const NOTHING = { kind: 'no-op' } as const;
const UNSUPPORTED = 'Unsupported action.';
const Text = z.string('must be a text').max(256, 'is too long');

const named = <Type extends string>(type: Type) => z.object({ type: z.literal(type) });
const isOff = (value: unknown): boolean => value === false || value === 'disabled';
const unlessOff =
  (field: string) =>
  (values: ReadonlyMap<string, unknown>): string | null =>
    isOff(values.get(field)) ? null : UNSUPPORTED;

const SpotUser = z.object({
  type: z.literal('spotUser'),
  toggleSpotDusting: z.object({ optOut: z.boolean() }).optional(),
  classTransfer: z.null().optional(),
});

export const NO_OP_ACTIONS: readonly ActionRow[] = [
  l1Row('noop', named('noop'), NOTHING),
  l1Row('setReferrer', named('setReferrer').extend({ code: Text }), NOTHING),
  l1Row('registerReferrer', named('registerReferrer').extend({ code: Text }), NOTHING),
  l1Row('setDisplayName', named('setDisplayName').extend({ displayName: Text }), NOTHING),
  l1Row('evmUserModify', named('evmUserModify').extend({ usingBigBlocks: z.boolean('must be true or false') }), NOTHING),
  l1Row('agentEnableDexAbstraction', named('agentEnableDexAbstraction'), { kind: 'no-op', refusal: () => UNSUPPORTED }),
  l1Row('agentSetAbstraction', named('agentSetAbstraction').extend({ abstraction: Text }), {
    kind: 'no-op',
    refusal: ({ abstraction }) => (abstraction === 'i' ? null : UNSUPPORTED),
  }),
  {
    ...l1Row('spotUser', SpotUser, {
      kind: 'no-op',
      refusal: ({ toggleSpotDusting }) => (toggleSpotDusting === undefined ? CUSTODY : null),
    }),
    byType: (action) => ((action.get('classTransfer') ?? null) === null ? null : CUSTODY),
  },
  userRow(
    'approveBuilderFee',
    userSigned('ApproveBuilderFee', 'string hyperliquidChain', 'string maxFeeRate', 'address builder', 'uint64 nonce'),
    NOTHING,
  ),
  userRow(
    'userDexAbstraction',
    userSigned('UserDexAbstraction', 'string hyperliquidChain', 'address user', 'bool enabled', 'uint64 nonce'),
    { kind: 'no-op', refusal: unlessOff('enabled') },
  ),
  userRow(
    'userSetAbstraction',
    userSigned('UserSetAbstraction', 'string hyperliquidChain', 'address user', 'string abstraction', 'uint64 nonce'),
    { kind: 'no-op', refusal: unlessOff('abstraction') },
  ),
  userRow(
    'userPortfolioMargin',
    userSigned('UserPortfolioMargin', 'string hyperliquidChain', 'address user', 'bool enabled', 'uint64 nonce'),
    { kind: 'no-op', refusal: unlessOff('enabled') },
  ),
];
