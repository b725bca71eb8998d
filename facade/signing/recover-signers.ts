import type { Crypto, RecoverableSignature } from '../../core/access/signature.js';
import type { Address } from '../../core/types.js';
import { actionHash, type HashExtras } from './action-hash.js';
import type { Decoded, Form } from './canonical.js';
import { createPhantomDigest, NETWORK_WORDS, type NetworkWord, type PhantomDigest } from './phantom-agent.js';

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
