import { isIP } from 'node:net';
import fc from 'fast-check';
import { addressBucket, clientAddress, parseRange, type AddressRange } from '../../core/access/client-address.js';

const ranges = (...texts: string[]): AddressRange[] => texts.map(parseRange).filter((range) => range !== null);
const LOCAL = ranges('10.0.0.0/8', '127.0.0.1', '::1', 'fd00::/8');

describe('the client address', () => {
  it('is the peer when no proxy is trusted, whatever the header claims', () => {
    expect(clientAddress('203.0.113.9', '1.2.3.4', [])).toBe('203.0.113.9');
    expect(clientAddress('203.0.113.9', '1.2.3.4', 0)).toBe('203.0.113.9');
  });

  it('is the peer when the peer is no trusted proxy', () => {
    expect(clientAddress('203.0.113.9', '1.2.3.4, 10.0.0.1', LOCAL)).toBe('203.0.113.9');
  });

  it.each([
    ['one proxy', '10.0.0.1', '198.51.100.7', '198.51.100.7'],
    ['a chain of proxies', '10.0.0.1', '198.51.100.7, 10.0.0.3, 10.0.0.2', '198.51.100.7'],
    ['a spoofed beginning', '10.0.0.1', '6.6.6.6, 198.51.100.7', '198.51.100.7'],
    ['a spoofed beginning that looks trusted', '10.0.0.1', '10.9.9.9, 198.51.100.7, 10.0.0.2', '198.51.100.7'],
    ['only trusted addresses', '10.0.0.1', '10.0.0.4, 10.0.0.3', '10.0.0.4'],
    ['no header', '10.0.0.1', undefined, '10.0.0.1'],
    ['an empty header', '10.0.0.1', '', '10.0.0.1'],
    ['garbage', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['garbage before a proxy', '10.0.0.1', '<script>, 10.0.0.2', '10.0.0.2'],
    ['a port', '10.0.0.1', '198.51.100.7:4711', '198.51.100.7'],
    ['IPv6 with a port', '10.0.0.1', '[2001:db8::7]:4711', '2001:db8:0:0:0:0:0:7'],
    ['IPv6', '::1', '2001:DB8::7', '2001:db8:0:0:0:0:0:7'],
    ['IPv6 proxies', 'fd12::1', '2001:db8::7, fd00::9', '2001:db8:0:0:0:0:0:7'],
    ['a mapped peer', '::ffff:10.0.0.1', '198.51.100.7', '198.51.100.7'],
    ['a mapped client', '10.0.0.1', '::ffff:198.51.100.7', '198.51.100.7'],
    ['numbers with leading zeros', '10.0.0.1', '010.0.0.1', '10.0.0.1'],
  ])('behind %s', (_what, peer, header, client) => expect(clientAddress(peer, header, LOCAL)).toBe(client));

  it.each([
    [1, '198.51.100.7', '198.51.100.7'],
    [1, '6.6.6.6, 198.51.100.7', '198.51.100.7'],
    [2, '6.6.6.6, 198.51.100.7, 203.0.113.1', '198.51.100.7'],
    [3, '198.51.100.7', '198.51.100.7'],
    [2, 'nonsense, 203.0.113.1', '203.0.113.1'],
  ])('behind %d hops with %s is %s', (hops, header, client) => expect(clientAddress('192.0.2.1', header, hops)).toBe(client));

  it('is a valid address or the peer itself, for any header', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 80 }), fc.oneof(fc.constant(LOCAL), fc.nat({ max: 5 })), (header, trusted) => {
        expect(isIP(clientAddress('10.0.0.1', header, trusted))).not.toBe(0);
      }),
    );
  });

  it('has one spelling for each address', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const first = clientAddress(text, undefined, []);
        expect(isIP(first)).not.toBe(0);
        expect(clientAddress(first, undefined, [])).toBe(first);
        expect(clientAddress(text.toUpperCase(), undefined, [])).toBe(first);
        expect(new URL(`http://[${text}]/`).hostname).toBe(
          new URL(isIP(first) === 4 ? `http://[::ffff:${first}]/` : `http://[${first}]/`).hostname,
        );
      }),
    );
    fc.assert(fc.property(fc.ipV4(), (text) => expect(clientAddress(`::ffff:${text}`, undefined, [])).toBe(text)));
  });
});

describe('a range', () => {
  it.each([
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0/8',
    '10.0.0.256',
    '10.0.0.0/8/8',
    '::/129',
    ':::',
    '1::2::3',
    'x',
    '',
    '1:2:3:4:5:6:7',
    '12345::',
    '::ffff:10.0.0.0/64',
  ])('is not read from %j', (text) => expect(parseRange(text)).toBeNull());

  it.each([
    ['0.0.0.0/0', '203.0.113.9', true],
    ['203.0.113.8/31', '203.0.113.9', true],
    ['203.0.113.8/32', '203.0.113.9', false],
    ['::/0', '203.0.113.9', false],
    ['::ffff:203.0.113.0/120', '203.0.113.9', true],
    ['2001:db8::/33', '2001:db8:7fff::1', true],
    ['2001:db8::/33', '2001:db8:8000::1', false],
  ])('%s holds %s: %s', (range, peer, holds) => {
    expect(clientAddress(peer, '9.9.9.9', ranges(range))).toBe(holds ? '9.9.9.9' : clientAddress(peer, undefined, []));
  });
});

describe('the bucket of an address', () => {
  it('is the address itself for IPv4 and the /64 for IPv6', () => {
    expect(addressBucket('203.0.113.9')).toBe('203.0.113.9');
    const bucketOf = (text: string): string => addressBucket(clientAddress(text, undefined, []));
    expect(bucketOf('2001:db8:1:2::1')).toBe('2001:db8:1:2::/64');
    expect(bucketOf('2001:db8:1:2:ffff::9')).toBe(bucketOf('2001:db8:1:2::1'));
    expect(bucketOf('2001:db8:1:3::1')).not.toBe(bucketOf('2001:db8:1:2::1'));
  });
});
