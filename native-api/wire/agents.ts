import { z } from 'zod';
import { AGENT_MODES, AGENT_STATUSES, HAS_UNSEEN, PERMISSIONS } from '../../core/domain/agent.js';
import { DECIMAL_PATTERN, MAX_DECIMAL_LENGTH } from '../../core/domain/decimal.js';
import type { Hex } from '../../core/types.js';
import { ADDRESS, AnyAddress, DecimalString, EpochMs } from './codec.js';

const HEX = /^0x[0-9a-fA-F]*$/;
const Signature = z.codec(
  z.string().regex(HEX, 'must be 0x and hex characters'),
  z.custom<Hex>((value) => typeof value === 'string'),
  { decode: (text) => text as Hex, encode: (hex) => hex },
);

/** Portable to OpenAPI generators of all languages, unlike `\\p{…}` and `\\u…`. */
const CONTROL = '\\x00-\\x1f\\x7f-\\x9f';

/** Counted in characters, not code units. Half a surrogate pair is refused by the JSON parser. */
const anyLine = (min: number, max: number) =>
  z.string().regex(new RegExp(`^[^${CONTROL}]{${min},${max}}$`, 'u'), `must have ${min} to ${max} characters and no control characters`);

const line = (min: number, max: number) =>
  anyLine(min, max).refine((text) => !HAS_UNSEEN.test(text), 'must have no characters that control a line or its direction');

/** Texts, not decimals: the master wallet signed exactly these characters. */
const bound = (allowsZero: boolean) =>
  z
    .string()
    .max(MAX_DECIMAL_LENGTH)
    .regex(DECIMAL_PATTERN, 'must be a decimal string')
    .refine(
      (text) => !text.startsWith('-') && (allowsZero || /[1-9]/.test(text)),
      allowsZero ? 'must not be negative' : 'must be positive',
    );
const MAX_MARKETS = 1_000;
const MarketText = z.string().regex(/^[A-Za-z0-9.]{1,15}[-/][A-Za-z0-9]{1,10}$/, 'must be a market symbol such as BTC/USD');

export const ScopeRequest = z
  .strictObject({
    markets: z.union([z.literal('all'), z.array(MarketText).max(MAX_MARKETS)], 'must be "all" or a list of market symbols'),
    maxLeverage: bound(false).nullable().default(null),
    dailySpendCapUsd: bound(true).nullable().default(null),
    // Zero is signed as "no expiry", so as a date it would make one signature mean two scopes.
    expiresAt: z.int().positive().nullable().default(null),
    permissions: z.enum(PERMISSIONS),
  })
  .meta({ id: 'ScopeRequest' });

export const CreateAgentRequest = z
  .strictObject({
    trader: AnyAddress,
    agent: AnyAddress,
    name: line(0, 32).default(''),
    scope: ScopeRequest,
    timestamp: EpochMs,
    signature: Signature,
    agentSignature: Signature.nullable().default(null),
  })
  .meta({ id: 'CreateAgentRequest' });

export const RevokeAgentRequest = z
  .strictObject({ trader: AnyAddress, timestamp: EpochMs, signature: Signature })
  .meta({ id: 'RevokeAgentRequest' });

/** A key that was made with any label before can be removed. */
const API_KEY_REMOVAL = { trader: AnyAddress, label: anyLine(1, 64), timestamp: EpochMs, signature: Signature };

export const ApiKeyRequest = z.strictObject({ ...API_KEY_REMOVAL, label: line(1, 64), expiresAt: z.int().positive().optional() }).meta({
  id: 'ApiKeyRequest',
  description: 'With `expiresAt` (epoch ms) the key expires then, and `expiresAt` is the third signed field.',
});

export const ApiKeyRemoval = z.strictObject(API_KEY_REMOVAL).meta({ id: 'ApiKeyRemoval' });

export const AgentScope = z
  .object({
    markets: z.union([z.literal('all'), z.array(z.string())]),
    maxLeverage: DecimalString.nullable(),
    dailySpendCapUsd: DecimalString.nullable(),
    expiresAt: EpochMs.nullable(),
    permissions: z.enum(PERMISSIONS),
  })
  .meta({ id: 'Scope' });

export const AgentRecord = z
  .object({
    agent: AnyAddress,
    trader: AnyAddress,
    name: z.string(),
    scope: AgentScope,
    mode: z.enum(AGENT_MODES),
    status: z.enum(AGENT_STATUSES),
    createdAt: EpochMs,
  })
  .meta({ id: 'Agent' });

export const MasterTransaction = z
  .object({ to: z.string().regex(ADDRESS), data: z.string().regex(HEX), chainId: z.int() })
  .meta({ id: 'MasterTransaction', description: 'A transaction for the master wallet to send.' });

export const AgentReply = z.object({ agent: AgentRecord, delegationTx: MasterTransaction.nullable() }).meta({ id: 'AgentReply' });
export const RevocationReply = z.object({ revocationTx: MasterTransaction.nullable() }).meta({ id: 'RevocationReply' });
export const IssuedApiKey = z
  .object({ apiKey: z.string(), label: z.string(), trader: AnyAddress, expiresAt: EpochMs.optional() })
  .meta({ id: 'IssuedApiKey' });
export const ApiKeyList = z
  .object({ data: z.array(z.object({ label: z.string(), createdAt: EpochMs, expiresAt: EpochMs.nullable() }).meta({ id: 'ApiKey' })) })
  .meta({ id: 'ApiKeyList' });
export const ApiKeyRemovalReply = z
  .object({ label: z.string(), trader: AnyAddress, deleted: z.boolean() })
  .meta({ id: 'ApiKeyRemovalReply', description: '`deleted` is false when the trader had no key of that label.' });
