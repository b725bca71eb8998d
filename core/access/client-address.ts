/** An address as a number, so that every spelling is equal and a range check is a comparison. */
interface IpAddress {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

export interface AddressRange extends IpAddress {
  readonly prefix: number;
}

/** Proxies whose `X-Forwarded-For` is trusted: address ranges, or a number of hops; an empty list trusts none. */
export type TrustedProxies = readonly AddressRange[] | number;

const MAPPED = 0xffffn;

function parseV4(text: string): bigint | null {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)) return null;
  return parts.reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function parseV6(text: string): bigint | null {
  const groups = text.replace(/(?<=:)[\d.]+$/, (tail) => dottedTail(tail) ?? tail);
  const halves = groups.split('::');
  const [head = [], tail] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const gap = 8 - head.length - (tail?.length ?? 0);
  if (halves.length > 2 || (tail === undefined ? gap !== 0 : gap < 1)) return null;
  const all = tail === undefined ? head : [...head, ...Array.from({ length: gap }, () => '0'), ...tail];
  return all.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))
    ? all.reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n)
    : null;
}

/** `::ffff:1.2.3.4` ends in the dotted spelling of two groups. */
function dottedTail(text: string): string | null {
  const value = text.includes('.') ? parseV4(text) : null;
  return value === null ? null : `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
}

/** IPv4-mapped IPv6 becomes IPv4. A zone (`%eth0`) is dropped. Null if the text is not an address. */
function parseAddress(text: string): IpAddress | null {
  const v4 = parseV4(text);
  if (v4 !== null) return { bits: 32, value: v4 };
  if (!text.includes(':') || text.length > 60) return null;
  const v6 = parseV6(text.replace(/%.*$/, ''));
  if (v6 === null) return null;
  return v6 >> 32n === MAPPED ? { bits: 32, value: v6 & 0xffffffffn } : { bits: 128, value: v6 };
}

export const isIpAddress = (text: string): boolean => parseAddress(text) !== null;

function writeAddress({ bits, value }: IpAddress): string {
  const size = bits === 32 ? 8 : 16;
  const parts = Array.from(
    { length: bits / size },
    (_, index) => (value >> BigInt(bits - size * (index + 1))) & ((1n << BigInt(size)) - 1n),
  );
  return bits === 32 ? parts.join('.') : parts.map((part) => part.toString(16)).join(':');
}

/** `10.0.0.0/8`, `fd00::/8`, `192.0.2.7`; null for anything else. */
export function parseRange(text: string): AddressRange | null {
  const [base = '', length, ...rest] = text.trim().split('/');
  const address = parseAddress(base);
  if (address === null || rest.length > 0 || (length !== undefined && !/^\d{1,3}$/.test(length))) return null;
  const prefix = length === undefined ? address.bits : Number(length) - (address.bits === 32 && base.includes(':') ? 96 : 0);
  return prefix >= 0 && prefix <= address.bits ? { ...address, prefix } : null;
}

const contains = (range: AddressRange, address: IpAddress): boolean =>
  range.bits === address.bits && (range.value ^ address.value) >> BigInt(range.bits - range.prefix) === 0n;

/** A proxy may add the port it saw: `1.2.3.4:567`, `[2001:db8::1]:567`. */
const withoutPort = (text: string): string => {
  const trimmed = text.trim();
  const bracketed = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(trimmed);
  return bracketed?.[1] ?? trimmed.replace(/^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/, '$1');
};

/**
 * The client's address. Each proxy appends to `X-Forwarded-For`, and a client can forge its beginning: entries are read from the right while the
 * proxy that wrote them is trusted, up to the first entry that is not an address.
 */
export function clientAddress(socketAddress: string, forwardedFor: string | undefined, trusted: TrustedProxies): string {
  const peer = parseAddress(socketAddress);
  if (peer === null) return socketAddress;
  if (forwardedFor === undefined || trusted === 0 || (typeof trusted !== 'number' && trusted.length === 0)) return writeAddress(peer);
  const entries = forwardedFor.split(',').reverse();
  const isTrusted = (address: IpAddress, hop: number): boolean =>
    typeof trusted === 'number' ? hop < trusted : trusted.some((range) => contains(range, address));
  let client = peer;
  for (const [hop, entry] of entries.entries()) {
    if (!isTrusted(client, hop)) break;
    const next = parseAddress(withoutPort(entry));
    if (next === null) break;
    client = next;
  }
  return writeAddress(client);
}

/** An address of the documentation range, which no client has; used to test whether a peer's header is trusted. */
const PROBE = '192.0.2.1';

/** Whether a peer's `X-Forwarded-For` is trusted. With a number of hops every peer is. */
export const isTrustedPeer = (socketAddress: string, trusted: TrustedProxies): boolean =>
  clientAddress(socketAddress, PROBE, trusted) === PROBE;

/** One bucket per IPv4 address; for IPv6 one per /64, which is assigned to a single customer. */
export const addressBucket = (address: string): string => (address.includes(':') ? `${address.split(':', 4).join(':')}::/64` : address);
