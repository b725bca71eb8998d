import { bytesToHex } from 'viem/utils';
import type { Keccak } from '../../core/access/signature.js';
import { actionHash, type HashExtras } from './action-hash.js';
import type { JsonObject } from './ordered-json.js';
import { userSigned, userSignedDigest } from './user-signed.js';

const SEND_MULTI_SIG = userSigned('SendMultiSig', 'string hyperliquidChain', 'bytes32 multiSigActionHash', 'uint64 nonce');
/** Clients sign these envelopes for this chain, whatever wallet they use. */
const DEFAULT_CHAIN = 0x66een;

/** The digests that the sender of a multi-sig action signs: the hash of the wrapper without its type, on either network. */
export function multiSigDigests(keccak: Keccak, action: JsonObject, extras: HashExtras): Uint8Array[] {
  const wrapper = new Map([...action].filter(([key]) => key !== 'type'));
  const multiSigActionHash = bytesToHex(actionHash(keccak, wrapper, extras));
  const chain = action.get('signatureChainId');
  const signatureChainId = typeof chain === 'string' && /^0x[0-9a-f]{1,16}$/i.test(chain) ? BigInt(chain) : DEFAULT_CHAIN;
  return ['Mainnet', 'Testnet'].map((hyperliquidChain) =>
    userSignedDigest(keccak, SEND_MULTI_SIG, {
      signatureChainId,
      values: new Map<string, string | bigint>([
        ['hyperliquidChain', hyperliquidChain],
        ['multiSigActionHash', multiSigActionHash],
        ['nonce', extras.nonce],
      ]),
    }),
  );
}
