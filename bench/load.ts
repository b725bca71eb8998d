import { connect, type Socket } from 'node:net';
import { instantiateSecp256k1 } from '@bitauth/libauth';
import { createRequestDigest } from '../core/access/signature.js';
import { loadKeccak } from '../core/adapters/crypto/load-crypto.js';
import { chainBySlug } from '../core/chains/chains.js';

/** The load generator, a process of its own: it signs beforehand, then sends as fast as answers come back. */

export interface Signer {
  readonly address: string;
  /** Hex, without 0x. */
  readonly privateKey: string;
}

export interface Job {
  readonly url: string;
  /** Replicas of the same service; the connections go to each in turn. */
  readonly others?: readonly string[];
  /** `{signer}` stands for the address of the signer. */
  readonly path: string;
  readonly count: number;
  readonly connections: number;
  /** Present: it is a POST. */
  readonly body?: string;
  /** Absent: the request carries no credentials. */
  readonly signed?: { readonly operationId: string; readonly serviceName: string; readonly signers: readonly Signer[] };
}

export interface Outcome {
  readonly seconds: number;
  /** Microseconds of processor time that the generator itself used meanwhile. */
  readonly cpu: number;
  /** First lines of answers that were not 200, with how many there were of each. */
  readonly failures: Readonly<Record<string, number>>;
}

/** Ahead of the server's clock, so that what is signed now is still good when it is sent. */
const AHEAD_MS = 20_000;
const keccak = await loadKeccak();
const curve = await instantiateSecp256k1();
let nonces = BigInt(Date.now()) * 1_000_000n;

function requestsOf({ url, path, count, signed, body }: Job): Buffer[] {
  if (body !== undefined) return [posted(url, path, body)];
  const { host } = new URL(url);
  if (!signed) return [Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)];
  const digest = createRequestDigest(keccak, signed.serviceName);
  return Array.from({ length: count }, (_, index) => {
    const signer = signed.signers[index % signed.signers.length];
    if (!signer) throw new RangeError('no signer was given');
    const timestamp = Date.now() + AHEAD_MS;
    const nonce = String((nonces += 1n));
    const { operationId } = signed;
    const own = path.replace('{signer}', signer.address);
    const request = { operationId, method: 'GET', path: own, body: new Uint8Array(), timestamp, nonce };
    const made = curve.signMessageHashRecoverableCompact(
      Buffer.from(signer.privateKey, 'hex'),
      digest(chainBySlug('arbitrum-sepolia'), request),
    );
    if (typeof made === 'string') throw new Error(made);
    const signature = `0x${Buffer.from(made.signature).toString('hex')}${(27 + made.recoveryId).toString(16)}`;
    const credentials = { Agent: signer.address, Timestamp: String(timestamp), Nonce: nonce, Signature: signature };
    return Buffer.from(
      `GET ${own} HTTP/1.1\r\nHost: ${host}\r\n${Object.entries(credentials)
        .map(([name, value]) => `X-Service-${name}: ${value}\r\n`)
        .join('')}\r\n`,
    );
  });
}

const posted = (url: string, path: string, body: string): Buffer =>
  Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );

async function run(job: Job): Promise<Outcome> {
  const requests = requestsOf(job);
  const failures: Record<string, number> = {};
  let sent = 0;
  const next = (): Buffer | undefined => (sent < job.count ? requests[sent++ % requests.length] : undefined);
  process.send?.('signed');
  const urls = [job.url, ...(job.others ?? [])];
  const sockets = await Promise.all(Array.from({ length: job.connections }, (_, index) => open(urls[index % urls.length] ?? job.url)));
  const since = performance.now();
  const before = process.cpuUsage();
  await Promise.all(sockets.map((socket) => drive(socket, next, (line) => (failures[line] = (failures[line] ?? 0) + 1))));
  const { user, system } = process.cpuUsage(before);
  return { seconds: (performance.now() - since) / 1000, cpu: user + system, failures };
}

function open(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => resolve(socket)).setNoDelay(true);
    socket.once('error', reject);
  });
}

/** One request at a time on one connection, until there are no more. */
function drive(socket: Socket, next: () => Buffer | undefined, failed: (line: string) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let pending: Buffer = Buffer.alloc(0);
    const send = (): void => {
      const request = next();
      if (request !== undefined) return void socket.write(request);
      socket.destroy();
      resolve();
    };
    socket.on('error', reject);
    socket.on('data', (chunk: Buffer) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      const end = pending.indexOf('\r\n\r\n');
      if (end === -1) return;
      const head = pending.toString('latin1', 0, end);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (pending.length < end + 4 + length) return;
      if (!head.startsWith('HTTP/1.1 200')) failed(pending.toString('utf8', 0, 12) + pending.toString('utf8', end + 4, end + 90));
      pending = Buffer.alloc(0);
      send();
    });
    send();
  });
}

process.on('message', (job: Job) => {
  run(job).then(
    (outcome) => process.send?.(outcome),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
