import { sha256, stringToBytes } from 'viem/utils';
import type { Gateway, Venue } from '../gateway.js';
import type { Address, Hex } from '../ports.js';
import type { KeyCaller } from './caller.js';
import { verifyMaster } from './master-signature.js';

export interface ApiKeyRequest {
  readonly trader: Address;
  readonly label: string;
  readonly timestamp: number;
  readonly signature: Hex;
}

export interface IssuedApiKey {
  /** Shown this once; only its hash is kept. */
  readonly apiKey: string;
  readonly label: string;
  readonly trader: Address;
}

const KEY_BYTES = 32;
const KEY_SHAPE = /^dg_[A-Za-z0-9_-]{43}$/;

export async function issueApiKey(
  gateway: Gateway,
  venue: Venue,
  { trader, label, timestamp, signature }: ApiKeyRequest,
): Promise<IssuedApiKey> {
  const claim = await verifyMaster(gateway, venue, {
    trader,
    timestamp,
    signature,
    primaryType: 'ApiKeyIssue',
    message: { label, timestamp: BigInt(timestamp) },
    subject: `api-key:${label}`,
  });
  const apiKey = `dg_${Buffer.from(gateway.randomBytes(KEY_BYTES)).toString('base64url')}`;
  await gateway.store.access.saveApiKey(claim, { hash: hashApiKey(apiKey), label }, venue.clock.now());
  return { apiKey, label, trader };
}

/** A key has 256 bits of chance, so one round of a fast hash keeps it; null for texts that cannot be one of ours. */
export const apiKeyHash = (key: string): string | null => (KEY_SHAPE.test(key) ? hashApiKey(key) : null);

/** Whose key it is on this chain; null when it is nobody's, or was replaced. */
export async function findCallerByKey(gateway: Gateway, venue: Venue, key: string): Promise<KeyCaller | null> {
  const hash = apiKeyHash(key);
  const found = hash === null ? null : await gateway.store.access.findApiKey(venue.definition.slug, hash);
  return found === null ? null : { via: 'apiKey', trader: found.trader, label: found.label };
}

const hashApiKey = (key: string): string => sha256(stringToBytes(key)).slice(2);
