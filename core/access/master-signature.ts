import type { TypedDataDefinition } from 'viem';
import { hashTypedData, hexToBytes } from 'viem/utils';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address, Hex } from '../types.js';
import type { MasterClaim } from '../ports/stores/access.js';
import { masterFields, parseSignature, signingDomain, type MASTER_TYPES, type MasterType } from './signature.js';
import { refuseRepeat } from './after-loss.js';
import { isApprovedByContract } from './wallet-verdicts.js';

export const MASTER_WINDOW_MS = 30_000;
/** How long a digest is stored: long enough that no replica's clock accepts the message after it was deleted. */
const KEPT_MS = 2 * MASTER_WINDOW_MS;

type OptionalOf<Type extends MasterType> = Type extends 'ApiKeyIssue' ? { readonly expiresAt?: bigint } : unknown;
type MessageOf<Type extends MasterType> = TypedDataDefinition<typeof MASTER_TYPES, Type>['message'] & OptionalOf<Type>;

export interface MasterMessage<Type extends MasterType> {
  /** The client's network address, charged for a contract wallet's check; calls without one share a budget. */
  readonly from?: string;
  readonly trader: Address;
  /** Epoch ms. */
  readonly timestamp: number;
  readonly signature: Hex;
  readonly primaryType: Type;
  readonly message: MessageOf<Type>;
  readonly subject: string;
  /** The agent's own signature over the same digest. */
  readonly cosignature?: { readonly agent: Address; readonly signature: Hex } | null;
}

/** The digest the trader's key signs; with `trader`, the digest a contract wallet signs. */
export function masterDigest<Type extends MasterType>(
  gateway: Pick<Gateway, 'serviceName'>,
  { definition }: Pick<Venue, 'definition'>,
  primaryType: Type,
  message: MessageOf<Type>,
  trader: Address | null = null,
): Hex {
  const fields = masterFields(primaryType, Object.keys(message), trader === null ? 'key' : 'contract');
  const data = {
    domain: signingDomain(gateway, definition),
    types: { [primaryType]: fields },
    primaryType,
    message: trader === null ? message : { ...message, trader },
  };
  return hashTypedData(data as unknown as TypedDataDefinition);
}

/** Checks everything that needs no database; the claim is consumed in the transaction that stores the result. */
export async function verifyMaster<Type extends MasterType>(
  gateway: Gateway,
  venue: Venue,
  { from = '', trader, timestamp, signature, primaryType, message, subject, cosignature = null }: MasterMessage<Type>,
): Promise<MasterClaim> {
  const serverTime = venue.clock.now();
  if (Math.abs(serverTime - timestamp) > MASTER_WINDOW_MS)
    throw new GatewayError('TIMESTAMP_OUT_OF_WINDOW', { timestamp, serverTime, windowMs: MASTER_WINDOW_MS });
  refuseRepeat(gateway.store.continuity.lastLoss(), timestamp, 'native', serverTime);
  const [plain, named] = [masterDigest(gateway, venue, primaryType, message), masterDigest(gateway, venue, primaryType, message, trader)];
  // A key signature is checked first, in both forms. If that fails, the trader may be a contract wallet, whose message must name the account.
  const byKey = [plain, named].find((each) => isSignedByKey(gateway, trader, each, signature));
  const digest = byKey ?? named;
  const isCosigned = cosignature === null || isSignedByKey(gateway, cosignature.agent, digest, cosignature.signature);
  const isSigned =
    isCosigned && (byKey !== undefined || (await isApprovedByContract(gateway, venue, { from, wallet: trader, digest: named, signature })));
  if (!isSigned) throw new GatewayError('INVALID_SIGNATURE', {});
  return {
    chain: venue.definition.slug,
    trader,
    primaryType,
    digest,
    timestamp,
    subject,
    cosigner: cosignature === null || cosignature.agent === trader ? null : cosignature.agent,
    expiresAt: timestamp + KEPT_MS,
  };
}

function isSignedByKey({ access }: Gateway, signer: Address, digest: Hex, signature: Hex): boolean {
  const parsed = parseSignature(signature);
  return parsed !== null && access.crypto.recover(hexToBytes(digest), parsed) === signer;
}
