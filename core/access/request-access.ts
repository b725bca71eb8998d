import { createSharedReads } from '../caching/shared-reads.js';
import type { ChainSlug } from '../chains/chains.js';
import { addressBucket, clientAddress, type TrustedProxies } from './client-address.js';
import type { Agent } from '../domain/agent.js';
import { createExpensiveRequests, createIpLimits, type ExpensiveRequests, type LimitNumbers, type Window } from './limits.js';
import type { Store } from '../ports/store.js';
import type { Logger } from '../ports/log.js';
import type { Clock } from '../ports/clock.js';
import type { Address } from '../types.js';
import type { ApiKeyRecord } from '../ports/stores/access.js';
import { createAdmission, type Admission } from './admission.js';
import { createCredentialHeaders, type CredentialHeaders } from './credential-headers.js';
import { createRequestDigest, type Crypto, type RequestDigest } from './signature.js';
import { createAddressShares, type AddressLimits, type AddressShares } from '../stream/address-shares.js';
import { createVerdictLane, type VerdictLane } from './wallet-verdicts.js';

export interface AccessSettings {
  readonly limits: LimitNumbers;
  /** Weight per address and minute for the facade's info handler, whose requests have different weights. */
  readonly infoWeight: number;
  readonly sockets: AddressLimits;
  /** `X-Service-` and such; the first is this deployment's. */
  readonly headerPrefixes: readonly string[];
  readonly trustedProxies: TrustedProxies;
  readonly connections: ConnectionLimits;
}

/** Maximum of open connections, including WebSockets. */
export interface ConnectionLimits {
  readonly total: number;
  /** Per IPv4 address or IPv6 /64; trusted proxies are exempt, because they connect for many clients. */
  readonly perAddress: number;
}

/** Authentication and rate limits of all requests, shared by all venues. */
export interface RequestAccess {
  /** Prefixes of the credential headers; the first is this deployment's. */
  readonly headerPrefixes: readonly string[];
  readonly crypto: Crypto;
  readonly digest: RequestDigest;
  readonly headers: CredentialHeaders;
  readonly limits: LimitNumbers;
  readonly admission: Admission;
  /** The only way to run a contract wallet's code. */
  readonly verdicts: VerdictLane;
  readonly agents: VersionedCache<{ readonly chain: ChainSlug; readonly agent: Address }, Agent>;
  readonly apiKeys: VersionedCache<{ readonly chain: ChainSlug; readonly hash: string }, ApiKeyRecord>;
  /** The client's address behind trusted proxies. */
  readonly clientAddress: (socketAddress: string, forwardedFor: string | undefined) => string;
  /** Counts a request of an address, in memory. */
  readonly countAddress: (address: string) => Window;
  /** The same for the weight of an info request, before it is answered. */
  readonly countWeight: (address: string, weight: number) => Window;
  /** Adds the weight of the response after it is answered. */
  readonly chargeWeight: (address: string, weight: number) => void;
  /** The same for actions, counted separately, so that a client over its read limit can still close positions. */
  readonly countActionWeight: (address: string, weight: number) => Window;
  readonly expensive: ExpensiveRequests;
  /** Whether an invalid signature may be explained to the address; an explanation costs much more than the refusal. */
  readonly mayBeExplained: (address: string) => boolean;
  /** Socket and subscription counts per address. */
  readonly sockets: AddressShares;
  readonly stop: () => void;
}

export interface RequestAccessOptions extends Omit<AccessSettings, 'connections'> {
  readonly serviceName: string;
  readonly crypto: Crypto;
  readonly store: Pick<Store, 'access' | 'admission'>;
  readonly clock: Clock;
  readonly log: Logger;
}

const PRUNE_MS = 60_000;
/** One in this many requests may be explained: 5 a minute at the launch limit, enough for a developer. */
const EXPLAINED_SHARE = 120;

export function createRequestAccess(options: RequestAccessOptions): RequestAccess {
  const { limits, infoWeight, sockets, headerPrefixes, trustedProxies, serviceName, crypto, store, clock, log } = options;
  const addresses = createIpLimits({ limit: limits.ip, store: store.admission, clock, log });
  const weights = createIpLimits({ limit: infoWeight, subject: 'info-weight', store: store.admission, clock, log });
  const actions = createIpLimits({ limit: infoWeight, subject: 'action-weight', store: store.admission, clock, log });
  const explanations = createIpLimits({
    limit: Math.max(1, Math.floor(limits.ip / EXPLAINED_SHARE)),
    subject: 'explained',
    store: store.admission,
    clock,
    log,
  });
  const verdicts = createVerdictLane({ perMinute: limits.ip, store: store.admission, clock, log });
  const stopPruning = clock.every(PRUNE_MS, () => {
    store.admission.prune(clock.now()).catch((error: unknown) => log.warn('admission.not-pruned', { error }));
  });
  return {
    headerPrefixes,
    limits,
    crypto,
    digest: createRequestDigest(crypto.keccak, serviceName),
    headers: createCredentialHeaders(headerPrefixes),
    verdicts,
    countActionWeight: (address, weight) => actions.count(addressBucket(address), weight),
    expensive: createExpensiveRequests(),
    mayBeExplained: (address) => !explanations.count(addressBucket(address)).isExceeded,
    sockets: createAddressShares(sockets),
    admission: createAdmission({ store: store.admission, clock, limits }),
    agents: createVersionedCache(
      clock,
      ({ chain, agent }) => `${chain}:${agent}`,
      ({ chain, agent }) => store.access.findAgent(chain, agent),
    ),
    apiKeys: createVersionedCache(
      clock,
      ({ chain, hash }) => `${chain}:${hash}`,
      ({ chain, hash }) => store.access.findApiKey(chain, hash),
    ),
    clientAddress: (socketAddress, forwardedFor) => clientAddress(socketAddress, forwardedFor, trustedProxies),
    countAddress: (address) => addresses.count(addressBucket(address)),
    countWeight: (address, weight) => weights.count(addressBucket(address), weight),
    chargeWeight: (address, weight) => weights.charge(addressBucket(address), weight),
    stop() {
      stopPruning();
      addresses.stop();
      weights.stop();
      verdicts.stop();
      explanations.stop();
      actions.stop();
    },
  };
}

/** Cache of rows that are read with nearly every request. */
interface VersionedCache<Key, Row> {
  /** From memory, else from the database; absent rows are not cached. Concurrent callers share one read. */
  find(key: Key): Promise<Row | null>;
  /** Reads the row from the database. */
  refresh(key: Key): Promise<Row | null>;
}

const MAX_ROWS = 20_000;

/**
 * Cached rows may be stale: the caller compares a row's version with the one that the admission statement returns, and refreshes it when they
 * differ.
 */
function createVersionedCache<Key, Row extends object>(
  clock: Clock,
  idOf: (key: Key) => string,
  load: (key: Key) => Promise<Row | null>,
): VersionedCache<Key, Row> {
  const rows = createSharedReads<string, Row | null>(clock, { maxAgeMs: Infinity, max: MAX_ROWS, isKept: (row) => row !== null });
  return {
    find: (key) => rows.get(idOf(key), () => load(key)),
    refresh: (key) => rows.keep(idOf(key), load(key)).answer,
  };
}
