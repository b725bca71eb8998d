import type { Keccak, Crypto, RecoverableSignature } from '../../core/access/signature.js';
import { join, actionHash, type HashExtras } from './action-hash.js';
import { wordOf } from './user-signed.js';
import type { Address } from '../../core/types.js';
import type { Decoded, Form } from './canonical.js';

/** The network the client signs for; nothing else of a signature depends on it. */
export const NETWORK_WORDS = ['a', 'b'] as const;
export type NetworkWord = (typeof NETWORK_WORDS)[number];

export interface PhantomDomain {
  readonly name: string;
  readonly chainId: bigint;
}

export const L1_DOMAIN: PhantomDomain = { name: 'Exchange', chainId: 1337n };

const encoder = new TextEncoder();

/** What an agent signs: a "phantom agent" message that contains the hash of the action. */
export type PhantomDigest = (connectionId: Uint8Array, source: string) => Uint8Array;

/** Encoded by hand with all constants hashed once: it runs up to four times per action. */
export function createPhantomDigest(keccak: Keccak, { name, chainId }: PhantomDomain = L1_DOMAIN): PhantomDigest {
  const text = (value: string): Uint8Array => keccak(encoder.encode(value));
  const domain = keccak(
    join([
      text('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'),
      text(name),
      text('1'),
      wordOf(chainId),
      wordOf(0n),
    ]),
  );
  const type = text('Agent(string source,bytes32 connectionId)');
  return (connectionId, source) => keccak(join([Uint8Array.of(0x19, 0x01), domain, keccak(join([type, text(source), connectionId]))]));
}

/** A possible signer: the form and the network under which the signature is theirs. */
export interface SignerCandidate {
  readonly signer: Address;
  readonly form: Form;
  readonly network: NetworkWord;
  readonly actionHash: Uint8Array;
}

export type RecoverSigners = (forms: Decoded<unknown>['forms'], extras: HashExtras, signature: RecoverableSignature) => SignerCandidate[];

/** Recovers all possible signers of an L1 signature, likeliest first: two forms on two networks, so at most four recoveries. */
export function createRecoverSigners({ keccak, recover }: Crypto): RecoverSigners {
  const digest: PhantomDigest = createPhantomDigest(keccak);
  return (forms, extras, signature) => {
    const candidates = forms.flatMap(({ form, json }) => {
      const hash = actionHash(keccak, json, extras);
      return NETWORK_WORDS.map((network) => ({ signer: recover(digest(hash, network), signature), form, network, actionHash: hash }));
    });
    return candidates.filter((candidate): candidate is SignerCandidate => candidate.signer !== null);
  };
}
