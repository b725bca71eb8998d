import type { Address } from '../../../core/types.js';
import { createAddressShares } from '../../../core/stream/address-shares.js';

const user = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`;

describe('what an address holds on sockets', () => {
  it('is counted per IPv4 address and per IPv6 /64', () => {
    const shares = createAddressShares({ sockets: 1, subscriptions: 9, users: 9 });
    expect(shares.open('192.0.2.1')).not.toBeNull();
    expect(shares.open('192.0.2.1')).toBeNull();
    expect(shares.open('192.0.2.2')).not.toBeNull();
    expect(shares.open('2001:db8:0:1:0:0:0:1')).not.toBeNull();
    expect(shares.open('2001:db8:0:1:ffff:0:0:2')).toBeNull();
    expect(shares.open('2001:db8:0:2:0:0:0:1')).not.toBeNull();
  });

  it('counts a user once, however many subscriptions watch it', () => {
    const shares = createAddressShares({ sockets: 9, subscriptions: 9, users: 1 });
    const share = shares.open('192.0.2.1');
    expect([share?.take(user(1)), share?.take(user(1)), share?.take(user(2)), share?.take(null)]).toEqual([null, null, 'users', null]);
    share?.giveBack(user(1));
    expect(share?.take(user(2))).toBe('users');
    share?.giveBack(user(1));
    expect(share?.take(user(2))).toBeNull();
  });

  it('is given back once, when the socket ends or before', () => {
    const shares = createAddressShares({ sockets: 2, subscriptions: 2, users: 2 });
    const [one, two] = [shares.open('192.0.2.1'), shares.open('192.0.2.1')];
    expect([one?.take(user(1)), one?.take(user(2)), two?.take(null)]).toEqual([null, null, 'subscriptions']);
    one?.giveBack(user(3));
    expect(two?.take(null)).toBe('subscriptions');
    one?.end();
    one?.end();
    expect([two?.take(user(3)), two?.take(user(4)), two?.take(null)]).toEqual([null, null, 'subscriptions']);
    expect(shares.open('192.0.2.1')).not.toBeNull();
    expect(shares.open('192.0.2.1')).toBeNull();
  });
});
