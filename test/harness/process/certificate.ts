import { createPublicKey, generateKeyPairSync, randomBytes, sign, X509Certificate, type KeyObject } from 'node:crypto';

export interface Certified {
  readonly key: string;
  /** The certificate, PEM. */
  readonly cert: string;
}

export interface Authority extends Certified {
  /** A certificate for a server that is reached by this name or address. */
  issue(host: string): Certified;
}

/** An authority that only the test trusts. Node signs but builds no certificates, so the few fields are written here as X.509 wants them. */
export function createAuthority(name = 'Test authority'): Authority {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const certify = (subject: string, key: KeyObject, extensions: Buffer): string =>
    pem(certificate({ issuer: name, subject, key: createPublicKey(key), extensions, signer: privateKey }));
  const mayIssue = extension('551d13', sequence(der(0x01, Buffer.from([0xff]))));
  return {
    key: keyText(privateKey),
    cert: certify(name, privateKey, mayIssue),
    issue(host) {
      const own = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
      return { key: keyText(own), cert: certify(host, own, extension('551d11', sequence(alternativeName(host)))) };
    },
  };
}

const keyText = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

interface Fields {
  readonly issuer: string;
  readonly subject: string;
  readonly key: KeyObject;
  readonly extensions: Buffer;
  readonly signer: KeyObject;
}

const ECDSA_SHA256 = Buffer.from('300a06082a8648ce3d040302', 'hex');
const DAY_MS = 86_400_000;

function certificate({ issuer, subject, key, extensions, signer }: Fields): Buffer {
  const now = Date.now();
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_SHA256,
    called(issuer),
    sequence(time(now - DAY_MS), time(now + DAY_MS)),
    called(subject),
    key.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extensions)),
  );
  return sequence(body, ECDSA_SHA256, der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, signer)])));
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const called = (name: string): Buffer => sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(name)))));
const extension = (id: string, value: Buffer): Buffer => sequence(oid(id), der(0x04, value));
const time = (at: number): Buffer => der(0x18, Buffer.from(new Date(at).toISOString().replace(/[-:T]|\.\d+/g, '')));

const alternativeName = (host: string): Buffer =>
  /^\d+(?:\.\d+){3}$/.test(host) ? der(0x87, Buffer.from(host.split('.').map(Number))) : der(0x82, Buffer.from(host));

const pem = (bytes: Buffer): string => new X509Certificate(bytes).toString();
