import { encode } from '@msgpack/msgpack';
import { concat, getBytes, keccak256, toBeHex, type HDNodeWallet, type TypedDataField, type Wallet } from 'ethers';

/** A client of the exchange that shares no code of ours with the service: actions are packed by @msgpack/msgpack and signed by ethers. */

type Signer = Wallet | HDNodeWallet;

export interface ExchangeBody {
  readonly action: Record<string, unknown>;
  readonly nonce: number;
  readonly signature: { readonly r: string; readonly s: string; readonly v: number };
  readonly vaultAddress?: string | null;
  readonly expiresAfter?: number | null;
}

export interface L1Options {
  readonly nonce?: number;
  readonly source?: string;
  readonly vaultAddress?: string | null;
  readonly expiresAfter?: number | null;
  /** What is hashed, where a client sends something else. */
  readonly hashed?: unknown;
  readonly chainId?: number;
  /** The bytes that are hashed, where they are put together in another way. */
  readonly bytes?: (packed: Uint8Array, nonce: string) => string;
}

const ZERO = '0x0000000000000000000000000000000000000000';

let last = 0;
/** Milliseconds, never the same twice. */
export const nextNonce = (): number => (last = Math.max(last + 1, Date.now()));

const uint64 = (value: number): string => toBeHex(value, 8);

export async function signL1(wallet: Signer, action: Record<string, unknown>, options: L1Options = {}): Promise<ExchangeBody> {
  const { nonce = nextNonce(), source = 'a', vaultAddress, expiresAfter, hashed = action, chainId = 1337 } = options;
  const packed = encode(hashed);
  const vault = vaultAddress ? concat(['0x01', vaultAddress]) : '0x00';
  const expiry = expiresAfter === undefined || expiresAfter === null ? '0x' : concat(['0x00', uint64(expiresAfter)]);
  const bytes = options.bytes?.(packed, uint64(nonce)) ?? concat([packed, uint64(nonce), vault, expiry]);
  const signature = await wallet.signTypedData(
    { name: 'Exchange', version: '1', chainId, verifyingContract: ZERO },
    {
      Agent: [
        { name: 'source', type: 'string' },
        { name: 'connectionId', type: 'bytes32' },
      ],
    },
    { source, connectionId: keccak256(bytes) },
  );
  return {
    action,
    nonce,
    signature: split(signature),
    ...(vaultAddress === undefined ? {} : { vaultAddress }),
    ...(expiresAfter === undefined ? {} : { expiresAfter }),
  };
}

export interface UserSignedOptions {
  readonly nonce?: number;
  readonly signatureChainId?: string;
  readonly network?: 'Mainnet' | 'Testnet';
  readonly nonceField?: 'nonce' | 'time';
}

/** `fields` are written as in the documentation: `address agentAddress`. */
export async function signUserSigned(
  wallet: Signer,
  [type, primaryType, ...fields]: readonly [string, string, ...string[]],
  values: Record<string, unknown>,
  options: UserSignedOptions = {},
): Promise<ExchangeBody> {
  const { nonce = nextNonce(), signatureChainId = '0x66eee', network = 'Mainnet', nonceField = 'nonce' } = options;
  const action = { type, signatureChainId, hyperliquidChain: network, ...values, [nonceField]: nonce };
  const all = ['string hyperliquidChain', ...fields, `uint64 ${nonceField}`].map((line): TypedDataField => {
    const [kind = '', name = ''] = line.split(' ');
    return { name, type: kind };
  });
  const signature = await wallet.signTypedData(
    { name: 'HyperliquidSignTransaction', version: '1', chainId: Number(signatureChainId), verifyingContract: ZERO },
    { [`HyperliquidTransaction:${primaryType}`]: all },
    { ...action, ...(values['agentName'] === null ? { agentName: '' } : {}) },
  );
  return { action, nonce, signature: split(signature) };
}

export const approveAgent = (
  wallet: Signer,
  agentAddress: string,
  agentName: string | null,
  options: UserSignedOptions = {},
): Promise<ExchangeBody> =>
  signUserSigned(
    wallet,
    ['approveAgent', 'ApproveAgent', 'address agentAddress', 'string agentName'],
    { agentAddress, agentName },
    options,
  );

function split(signature: string): ExchangeBody['signature'] {
  const bytes = getBytes(signature);
  return { r: keyText(bytes.slice(0, 32)), s: keyText(bytes.slice(32, 64)), v: bytes[64] ?? 27 };
}

const keyText = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`;

export interface ExchangeAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** Posts a body, or a text as it is, and reads the answer as JSON whatever it is. */
export async function postExchange(
  url: string,
  chain: string,
  body: unknown,
  init: { readonly headers?: Record<string, string>; readonly path?: string } = {},
): Promise<ExchangeAnswer> {
  const response = await fetch(`${url}${init.path ?? `/hl/${chain}/exchange`}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'Content-Type': 'application/json', ...init.headers },
  });
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) as unknown };
}

export const order = (changes: Record<string, unknown> = {}) => ({
  a: 0,
  b: true,
  p: '60000',
  s: '0.01',
  r: false,
  t: { limit: { tif: 'Ioc' } },
  ...changes,
});

export const orderAction = (...orders: Record<string, unknown>[]): Record<string, unknown> => ({
  type: 'order',
  orders: orders.length === 0 ? [order()] : orders,
  grouping: 'na',
});
