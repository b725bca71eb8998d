import { hashTypedData, hexToBytes, keccak256, toHex, type Hex, type TypedDataDefinition } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { createRequestDigest, MASTER_TYPES, signingDomain } from '../../core/access/signature.js';
import { loadNativeSigning } from '../../core/adapters/crypto/load-crypto.js';
import type { ChainDefinition } from '../../core/chains/chains.js';
import { ACTIONS } from '../../facade/actions/index.js';
import { actionHash, createPhantomDigest } from '../../facade/signing/l1-signature.js';
import { isObject, readOrderedJson, type JsonObject } from '../../facade/signing/ordered-json.js';
import { readUserSigned, userSignedDigest } from '../../facade/signing/user-signed.js';
import type { TestVenue } from '../harness/venue/own-venue.js';
import { postExchange } from '../harness/hyperliquid/exchange.js';
import { firstChain } from '../harness/venue/first-chain.js';
import type { FrameInput, HttpInput, Signing } from './input.js';

/** The keys of a venue that inputs are signed with: funded traders and their agents, and keys that own nothing. */
export interface Actors {
  readonly chain: ChainDefinition & { readonly slug: string };
  readonly addresses: readonly string[];
  readonly operatorToken: string;
  /** The request with what only the moment of sending knows: signature, nonce, time. */
  sign(input: HttpInput): HttpInput;
  signFrame(input: FrameInput): Buffer;
}

interface Key {
  readonly address: `0x${string}`;
  readonly bytes: Uint8Array;
}

const keyOf = (privateKey: Hex): Key => ({ address: privateKeyToAccount(privateKey).address, bytes: hexToBytes(privateKey) });
/** Known to this suite alone, and the same in every run. */
const suiteKey = (name: string): Key => keyOf(keccak256(toHex(`fuzz ${name}`)));

export async function createActors(sandbox: TestVenue & { readonly publicToken?: string | null }): Promise<Actors> {
  const native = await loadNativeSigning();
  if (native === null) throw new Error('the fuzzer signs with the native curve, and this machine has none');
  const { keccak, sign } = native;
  const { definition: chain } = firstChain(sandbox);
  const { accounts } = sandbox.controls;
  const agent = keyOf(accounts.agent.privateKey);
  const hlAgent = keyOf(accounts['hl-agent'].privateKey);
  const master = suiteKey('master');
  const unknownKey = suiteKey('stranger');
  const serviceName = sandbox.config.serviceName;
  const requestDigest = createRequestDigest(keccak, serviceName);
  const phantom = createPhantomDigest(keccak);
  let nonce = BigInt(Date.now()) * 1_000n;
  let hlNonce = Date.now();
  const nextHlNonce = (): number => (hlNonce = Math.max(hlNonce + 1, Date.now()));

  const signature = (digest: Uint8Array, key: Key): { readonly r: Hex; readonly s: Hex; readonly v: number } => {
    const { compact, yParity } = sign(digest, key.bytes);
    return { r: toHex(compact.slice(0, 32)), s: toHex(compact.slice(32)), v: 27 + yParity };
  };
  const joined = (digest: Uint8Array, key: Key): Hex => {
    const { r, s, v } = signature(digest, key);
    return `${r}${s.slice(2)}${v.toString(16)}` as Hex;
  };

  const signNative = (input: HttpInput, operationId: string): [string, string][] => {
    const timestamp = Date.now();
    const own = String((nonce += 1n));
    const request = { operationId, method: input.method, path: input.path, body: input.body ?? new Uint8Array(), timestamp, nonce: own };
    return [
      ['X-Service-Agent', agent.address],
      ['X-Service-Timestamp', String(timestamp)],
      ['X-Service-Nonce', own],
      ['X-Service-Signature', joined(requestDigest(chain, request), agent)],
    ];
  };

  /** The body gains what is signed in it; where its values cannot be signed, it goes with a signature of something else. */
  const signMaster = (input: HttpInput, { primaryType, subject }: Extract<Signing, { scheme: 'master' }>): Buffer => {
    const timestamp = Date.now();
    const text = input.body?.toString('utf8') ?? '{}';
    const message =
      primaryType === 'ApiKeyIssue'
        ? { label: subject, timestamp: BigInt(timestamp) }
        : primaryType === 'AgentRevocation'
          ? { agent: subject, timestamp: BigInt(timestamp) }
          : {
              agent: subject,
              name: '',
              markets: '*',
              maxLeverage: '',
              dailySpendCapUsd: '',
              expiresAt: 0n,
              permissions: 'trade',
              timestamp: BigInt(timestamp),
            };
    const data: unknown = { domain: signingDomain({ serviceName }, chain), types: MASTER_TYPES, primaryType, message };
    const digest = attempt(() => hashTypedData(data as TypedDataDefinition));
    const signed = joined(digest === null ? keccak(Buffer.from('fuzz')) : hexToBytes(digest), master);
    return Buffer.from(
      text
        .replaceAll('"__signature__"', `"${signed}"`)
        .replaceAll('"__timestamp__"', String(timestamp))
        .replaceAll('__master__', master.address),
    );
  };

  const envelope = (action: string, rest: string, { r, s, v }: { r: string; s: string; v: number }, own: number): string =>
    `{"action":${action},"nonce":${own},"signature":{"r":"${r}","s":"${s}","v":${v}}${rest}}`;

  const actionIn = (text: string): JsonObject | null => {
    const json = attempt(() => readOrderedJson(Buffer.from(text)));
    return json !== null && isObject(json) ? json : null;
  };

  /** `text` is an action, perhaps broken: what cannot be packed goes with a signature of something else. */
  const signL1 = (text: string, isKnown: boolean): string => {
    const own = nextHlNonce();
    const action = actionIn(text);
    const hash =
      action === null ? null : attempt(() => actionHash(keccak, action, { nonce: BigInt(own), vault: null, expiresAfter: null }));
    const digest = hash === null ? keccak(Buffer.from(text)) : phantom(hash, 'b');
    return envelope(text, '', signature(digest, isKnown ? hlAgent : unknownKey), own);
  };

  const signUser = (text: string): string => {
    const own = nextHlNonce();
    const timed = text.replaceAll('"__nonce__"', String(own));
    const action = actionIn(timed);
    const type = action?.get('type');
    const row = typeof type === 'string' ? ACTIONS.get(type) : undefined;
    const digest =
      action === null || row?.scheme !== 'user-signed'
        ? null
        : attempt(() => userSignedDigest(keccak, row.signed, readUserSigned(row.signed, action)));
    return envelope(timed, '', signature(digest ?? keccak(Buffer.from(timed)), master), own);
  };

  const signHl = (text: string, signing: Signing): string | null => {
    if (signing.scheme === 'l1') return signL1(text, signing.isKnown);
    return signing.scheme === 'user-signed' ? signUser(text) : null;
  };

  const apiKey = await issueKey(sandbox, chain, accounts.trader.privateKey, serviceName);
  // One order first: later ones of the agent find the trader's state read.
  await postExchange(sandbox.url, chain.slug, JSON.parse(signL1('{"type":"noop"}', true)));

  return {
    chain,
    operatorToken: operatorTokenOf(sandbox),
    addresses: [
      accounts.trader.address,
      accounts.trader.address.toLowerCase(),
      accounts.agent.address,
      accounts['hl-trader'].address.toLowerCase(),
      accounts['hl-agent'].address.toLowerCase(),
      sandbox.controls.relayer,
      chain.diamond,
      master.address,
    ],
    sign(input) {
      const { signing } = input;
      if (signing === undefined) return input;
      if (signing.scheme === 'native') return { ...input, headers: [...input.headers, ...signNative(input, signing.operationId)] };
      if (signing.scheme === 'api-key') return { ...input, headers: [...input.headers, ['X-Service-Api-Key', apiKey]] };
      if (signing.scheme === 'master') return { ...input, body: signMaster(input, signing) };
      return { ...input, body: Buffer.from(signHl(input.body?.toString('utf8') ?? '', signing) ?? '') };
    },
    signFrame({ payload, signing }) {
      if (signing === undefined) return payload;
      const text = payload.toString('utf8');
      if (signing.scheme === 'api-key') return Buffer.from(text.replace('__api_key__', apiKey));
      const action = /^__post:(\d+)__/.exec(text);
      const signed = action === null ? null : signHl(text.slice(action[0].length), signing);
      return signed === null
        ? payload
        : Buffer.from(`{"method":"post","id":${action?.[1]},"request":{"type":"action","payload":${signed}}}`);
    },
  };
}

function operatorTokenOf(sandbox: object): string {
  return 'publicToken' in sandbox && typeof sandbox.publicToken === 'string' ? sandbox.publicToken : '';
}

async function issueKey(
  sandbox: TestVenue,
  chain: ChainDefinition & { readonly slug: string },
  privateKey: Hex,
  serviceName: string,
): Promise<string> {
  const timestamp = Date.now();
  const signer = privateKeyToAccount(privateKey);
  const message = { label: 'fuzz', timestamp: BigInt(timestamp) };
  const signature = await signer.signTypedData({
    domain: signingDomain({ serviceName }, chain),
    types: MASTER_TYPES,
    primaryType: 'ApiKeyIssue',
    message,
  });
  const response = await fetch(`${sandbox.url}/v1/${chain.slug}/api-keys`, {
    method: 'POST',
    body: JSON.stringify({ trader: signer.address, label: 'fuzz', timestamp, signature }),
    headers: { 'Content-Type': 'application/json' },
  });
  const body: unknown = await response.json();
  if (response.status !== 200) throw new Error(`no API key was issued: ${JSON.stringify(body)}`);
  return (body as { readonly apiKey: string }).apiKey;
}

/** null where the value cannot be made. */
function attempt<Value>(make: () => Value): Value | null {
  try {
    return make();
  } catch {
    return null;
  }
}
