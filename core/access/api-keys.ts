import { sha256, stringToBytes } from 'viem/utils';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address, Hex } from '../types.js';
import type { ApiKeySummary } from '../ports/stores/access.js';
import type { KeyCaller } from './caller.js';
import { verifyMaster } from './master-signature.js';

export interface ApiKeyRequest extends ApiKeyRemoval {
  /** Epoch ms; not given: the key does not expire, and the signed message has no such field. */
  readonly expiresAt?: number | undefined;
}

export interface ApiKeyRemoval {
  /** The client's network address; absent for internal calls. */
  readonly from?: string;
  readonly trader: Address;
  readonly label: string;
  readonly timestamp: number;
  readonly signature: Hex;
}

export interface IssuedApiKey {
  /** Returned only here; the store keeps its hash. */
  readonly apiKey: string;
  readonly label: string;
  readonly trader: Address;
  /** Absent for a key without expiry. */
  readonly expiresAt?: number;
}

const subjectOf = (label: string): string => `api-key:${label}`;

const KEY_BYTES = 32;
const KEY_SHAPE = /^dg_[A-Za-z0-9_-]{43}$/;

export async function issueApiKey(
  gateway: Gateway,
  venue: Venue,
  { from, trader, label, timestamp, signature, expiresAt }: ApiKeyRequest,
): Promise<IssuedApiKey> {
  if (expiresAt !== undefined && expiresAt <= venue.clock.now())
    throw new GatewayError('VALIDATION_ERROR', { issues: [{ path: 'expiresAt', message: 'must lie in the future' }] });
  const claim = await verifyMaster(gateway, venue, {
    ...(from === undefined ? {} : { from }),
    trader,
    timestamp,
    signature,
    primaryType: 'ApiKeyIssue',
    message: { label, timestamp: BigInt(timestamp), ...(expiresAt !== undefined && { expiresAt: BigInt(expiresAt) }) },
    subject: subjectOf(label),
  });
  const apiKey = `dg_${Buffer.from(gateway.randomBytes(KEY_BYTES)).toString('base64url')}`;
  await gateway.store.access.saveApiKey(claim, { hash: hashApiKey(apiKey), label, expiresAt: expiresAt ?? null }, venue.clock.now());
  return { apiKey, label, trader, ...(expiresAt !== undefined && { expiresAt }) };
}

/** A trader's valid keys, by label; the keys themselves are not stored. */
export const listApiKeys = async ({ store }: Gateway, { definition, clock }: Venue, trader: Address): Promise<ApiKeySummary[]> => [
  ...(await store.access.listApiKeys(definition.slug, trader, clock.now())),
];

/** Invalidates the key of that label. `deleted` says whether there was one. */
export async function deleteApiKey(
  gateway: Gateway,
  venue: Venue,
  { from, trader, label, timestamp, signature }: ApiKeyRemoval,
): Promise<{ label: string; trader: Address; deleted: boolean }> {
  const claim = await verifyMaster(gateway, venue, {
    ...(from === undefined ? {} : { from }),
    trader,
    timestamp,
    signature,
    primaryType: 'ApiKeyRevocation',
    message: { label, timestamp: BigInt(timestamp) },
    subject: subjectOf(label),
  });
  return { label, trader, deleted: await gateway.store.access.deleteApiKey(claim, label, venue.clock.now()) };
}

export const isKeyExpired = ({ expiresAt }: Pick<ApiKeySummary, 'expiresAt'>, now: number): boolean =>
  expiresAt !== null && expiresAt <= now;

/** A key has 256 random bits, so one round of a fast hash is safe; null for texts without the shape of a key. */
export const apiKeyHash = (key: string): string | null => (KEY_SHAPE.test(key) ? hashApiKey(key) : null);

/** The owner of the key on this chain; null for an unknown, replaced or expired key. */
export async function findCallerByKey(gateway: Gateway, venue: Venue, key: string): Promise<KeyCaller | null> {
  const hash = apiKeyHash(key);
  const found = hash === null ? null : await gateway.store.access.findApiKey(venue.definition.slug, hash);
  return found === null || isKeyExpired(found, venue.clock.now()) ? null : { via: 'apiKey', trader: found.trader, label: found.label };
}

const hashApiKey = (key: string): string => sha256(stringToBytes(key)).slice(2);
