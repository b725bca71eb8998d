import { isErc6492Signature } from 'viem/utils';
import { addressBucket } from './client-address.js';
import { GatewayError } from '../errors.js';
import { fromNode, type Chain } from '../ports/chain.js';
import { createIpLimits, type IpLimitsOptions, refuseExceeded } from './limits.js';
import type { Address, Hex } from '../types.js';

export interface ContractClaim {
  /** The client's network address. */
  readonly from: string;
  readonly wallet: Address;
  readonly digest: Hex;
  readonly signature: Hex;
}

/** Whether the wallet's code approves (ERC-1271), or would after deployment by its factory (ERC-6492). False for an address without code. */
export async function isApprovedByContract(
  gateway: { readonly access: { readonly verdicts: VerdictLane } },
  venue: { readonly chain: Pick<Chain, 'hasCode' | 'isValidSignature'>; readonly definition: { readonly slug: string } },
  claim: ContractClaim,
): Promise<boolean> {
  const { from, wallet, digest, signature } = claim;
  if (signature.length % 2 !== 0) return false;
  if (!isErc6492Signature(signature) && !(await fromNode(venue.chain.hasCode(wallet)))) return false;
  const place = { chain: venue.definition.slug, from, wallet };
  return gateway.access.verdicts.run(place, () => fromNode(venue.chain.isValidSignature(wallet, digest, signature)));
}

export interface VerdictPlace {
  readonly chain: string;
  readonly from: string;
  readonly wallet: Address;
}

export interface VerdictLane {
  /** Runs the check when a slot is free. Throws RATE_LIMITED when the client or the contract has used its budget of the minute. */
  run<Verdict>(place: VerdictPlace, check: () => Promise<Verdict>): Promise<Verdict>;
  stop(): void;
}

export interface VerdictLaneOptions extends Pick<IpLimitsOptions, 'store' | 'clock' | 'log'> {
  /** Request limit per address; the check limit is a share of it. */
  readonly perMinute: number;
}

/** One in thirty requests: 20 checks a minute at the launch limit of 600 requests. */
const SHARE = 30;
const MIN_PER_MINUTE = 3;
/**
 * A client's first checks in a minute pass even if the contract's budget is used up; otherwise an attacker could use up the budget of a wallet
 * and keep its owner from revoking an agent.
 */
const OWN_CHECKS = 3;
/** Concurrent checks per chain, so that the node has capacity for other work. */
const AT_ONCE = 2;
/** Waiting checks per client, beside the running one. */
const MAX_WAITING_OF_CLIENT = 4;
const MAX_WAITING = 24;

interface Entry {
  readonly chain: string;
  readonly client: string;
  readonly start: () => void;
}

/**
 * Limits calls that run contract code chosen by a client: few at once, one per client, and a budget per minute for each client address and each
 * contract. Budgets are counted over all replicas, concurrency per replica.
 */
export function createVerdictLane({ perMinute, ...shared }: VerdictLaneOptions): VerdictLane {
  const limit = Math.max(MIN_PER_MINUTE, Math.floor(perMinute / SHARE));
  const clients = createIpLimits({ ...shared, limit, subject: 'wallet-check' });
  const contracts = createIpLimits({ ...shared, limit, subject: 'wallet-contract' });
  const running = new Set<Entry>();
  let waiting: Entry[] = [];

  const mayStart = ({ chain, client }: Entry): boolean =>
    [...running].every((other) => other.client !== client) && [...running].filter((other) => other.chain === chain).length < AT_ONCE;

  const startNext = (): void => {
    for (let next = waiting.find(mayStart); next !== undefined; next = waiting.find(mayStart)) {
      const started = next;
      waiting = waiting.filter((entry) => entry !== started);
      running.add(started);
      started.start();
    }
  };

  const charge = ({ chain, wallet }: VerdictPlace, client: string): void => {
    const own = clients.count(client);
    refuseExceeded([own]);
    const { isExceeded, resetSeconds } = contracts.count(`${chain}:${wallet}`);
    if (!isExceeded || own.limit - own.remaining <= OWN_CHECKS) return;
    throw new GatewayError('RATE_LIMITED', {
      scope: 'ip',
      retryAfterSeconds: resetSeconds,
      reason: `Too many signature checks of the contract ${wallet}`,
    });
  };

  const refuseFull = (client: string): void => {
    const own = waiting.filter((entry) => entry.client === client).length;
    if (waiting.length < MAX_WAITING && own < MAX_WAITING_OF_CLIENT) return;
    const reason = 'Too many contract wallets are being asked for their signature';
    throw new GatewayError('RATE_LIMITED', { scope: 'ip', retryAfterSeconds: 1, reason });
  };

  return {
    async run(place, check) {
      const client = addressBucket(place.from);
      refuseFull(client);
      charge(place, client);
      const entry = await new Promise<Entry>((resolve) => {
        const added: Entry = { chain: place.chain, client, start: () => resolve(added) };
        waiting.push(added);
        startNext();
      });
      try {
        return await check();
      } finally {
        running.delete(entry);
        startNext();
      }
    },
    stop() {
      clients.stop();
      contracts.stop();
    },
  };
}
