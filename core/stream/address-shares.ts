import { addressBucket } from '../access/client-address.js';
import type { Address } from '../types.js';

/** Limits per network address (IPv6: per /64) over the sockets of all APIs together. */
export interface AddressLimits {
  readonly sockets: number;
  readonly subscriptions: number;
  /** Distinct accounts watched without authentication. */
  readonly users: number;
}

/** One socket's share of the limits of its address. */
export interface Share {
  /** Counts one subscription, or returns the limit that is reached and counts nothing. */
  take(user: Address | null): 'subscriptions' | 'users' | null;
  giveBack(user: Address | null): void;
  /** Releases everything, including the socket itself. */
  end(): void;
}

export interface AddressShares {
  readonly limits: AddressLimits;
  /** Null when the address has reached its socket limit. */
  open(address: string): Share | null;
}

interface Held {
  sockets: number;
  subscriptions: number;
  /** Number of subscriptions per account. */
  readonly users: Map<Address, number>;
}

/** Counted per replica, because sockets stay where they were opened. Memory is bounded by the number of open sockets. */
export function createAddressShares(limits: AddressLimits): AddressShares {
  const held = new Map<string, Held>();

  function shareOf(bucket: string, own: Held): Share {
    const taken: (Address | null)[] = [];
    let isOver = false;

    const release = (user: Address | null): void => {
      own.subscriptions -= 1;
      if (user === null) return;
      const left = (own.users.get(user) ?? 1) - 1;
      if (left === 0) own.users.delete(user);
      else own.users.set(user, left);
    };

    return {
      take(user) {
        if (own.subscriptions >= limits.subscriptions) return 'subscriptions';
        if (user !== null && !own.users.has(user) && own.users.size >= limits.users) return 'users';
        own.subscriptions += 1;
        if (user !== null) own.users.set(user, (own.users.get(user) ?? 0) + 1);
        taken.push(user);
        return null;
      },
      giveBack(user) {
        const at = taken.indexOf(user);
        if (at < 0) return;
        taken.splice(at, 1);
        release(user);
      },
      end() {
        if (isOver) return;
        isOver = true;
        taken.splice(0).forEach(release);
        own.sockets -= 1;
        if (own.sockets === 0) held.delete(bucket);
      },
    };
  }

  return {
    limits,
    open(address) {
      const bucket = addressBucket(address);
      const own = held.get(bucket) ?? { sockets: 0, subscriptions: 0, users: new Map<Address, number>() };
      if (own.sockets >= limits.sockets) return null;
      own.sockets += 1;
      held.set(bucket, own);
      return shareOf(bucket, own);
    },
  };
}
