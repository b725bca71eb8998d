import type { ChainSlug } from '../chains/chains.js';
import { addressBucket, clientAddress, type TrustedProxies } from './client-address.js';
import type { Agent } from '../domain/agent.js';
import { createIpLimits } from './ip-limits.js';
import type { LimitNumbers, Window } from './limits.js';
import type { Store } from '../ports/store.js';
import type { Logger } from '../ports/log.js';
import type { Clock } from '../ports/clock.js';
import type { Address } from '../types.js';
import type { ApiKeyRecord } from '../ports/stores/access.js';
import { createAdmission, type Admission } from './admission.js';
import { createCredentialHeaders, type CredentialHeaders } from './credential-headers.js';
import { createDearTurns, type DearTurns } from './dear-turns.js';
import { createRemembered, type Remembered } from './remembered.js';
import { createRequestDigest, type RequestDigest } from './request-digest.js';
import type { Crypto } from './signature.js';
import { createAddressShares, type AddressLimits, type AddressShares } from '../stream/address-shares.js';
import { createVerdictLane, type VerdictLane } from './wallet-verdicts.js';

export interface EntranceSettings {
  readonly limits: LimitNumbers;
  /** What an address may ask of the facade's info door in a minute: its questions weigh differently. */
  readonly infoWeight: number;
  readonly sockets: AddressLimits;
  /** `X-Service-` and such; the first is ours. */
  readonly headerPrefixes: readonly string[];
  readonly trustedProxies: TrustedProxies;
  readonly connections: ConnectionLimits;
}

/** Connections that may be open at a time, WebSockets included. */
export interface ConnectionLimits {
  readonly total: number;
  /** Of one IPv4 address or one IPv6 /64; trusted proxies are exempt, because they connect for many. */
  readonly perAddress: number;
}

/** Everything that stands between a request and its operation, shared by all venues. */
export interface Entrance {
  /** Of the headers that carry credentials; the first is ours. */
  readonly headerPrefixes: readonly string[];
  readonly crypto: Crypto;
  readonly digest: RequestDigest;
  readonly headers: CredentialHeaders;
  readonly limits: LimitNumbers;
  readonly admission: Admission;
  /** The only way to run a contract wallet's code. */
  readonly verdicts: VerdictLane;
  readonly agents: Remembered<{ readonly chain: ChainSlug; readonly agent: Address }, Agent>;
  readonly apiKeys: Remembered<{ readonly chain: ChainSlug; readonly hash: string }, ApiKeyRecord>;
  /** The address of who is really calling, behind trusted proxies. */
  readonly clientAddress: (socketAddress: string, forwardedFor: string | undefined) => string;
  /** Counts a request of an address; waits for nothing. */
  readonly countAddress: (address: string) => Window;
  /** The same for what a question weighs, before it is answered. */
  readonly countWeight: (address: string, weight: number) => Window;
  /** And after it is, for what the answer weighs. */
  readonly chargeWeight: (address: string, weight: number) => void;
  /** The same for actions, in a bucket of their own: who has read too much can still get out. */
  readonly countActionWeight: (address: string, weight: number) => Window;
  readonly dear: DearTurns;
  /** Whether an address may have a wrong signature explained: that costs many times the refusal itself. */
  readonly mayBeExplained: (address: string) => boolean;
  /** What each address holds on the sockets. */
  readonly sockets: AddressShares;
  readonly stop: () => void;
}

export interface EntranceOptions extends Omit<EntranceSettings, 'connections'> {
  readonly serviceName: string;
  readonly crypto: Crypto;
  readonly store: Pick<Store, 'access' | 'admission'>;
  readonly clock: Clock;
  readonly log: Logger;
}

const PRUNE_MS = 15_000;
/** One in so many requests is explained: 5 a minute at the launch limit, enough for a developer who tries. */
const EXPLAINED_SHARE = 120;

export function createEntrance(options: EntranceOptions): Entrance {
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
    dear: createDearTurns(),
    mayBeExplained: (address) => !explanations.count(addressBucket(address)).isExceeded,
    sockets: createAddressShares(sockets),
    admission: createAdmission({ store: store.admission, clock, limits }),
    agents: createRemembered(
      ({ chain, agent }) => `${chain}:${agent}`,
      ({ chain, agent }) => store.access.findAgent(chain, agent),
    ),
    apiKeys: createRemembered(
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
