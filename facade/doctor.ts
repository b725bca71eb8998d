import type { Acquaintance } from '../core/ports/stores/signers.js';
import type { Recover, RecoverableSignature } from '../core/access/signature.js';
import type { Gateway, Venue } from '../core/gateway.js';
import type { Address } from '../core/types.js';
import { MISTAKES, type Misfit } from './signing/mistakes.js';
import { packMessage } from './signing/l1-signature.js';

export interface Patient extends Omit<Misfit, 'keccak' | 'chainId'> {
  readonly signature: RecoverableSignature;
  /** The signers recovered from the signature as it is. */
  readonly candidates: readonly Address[];
}

interface Suspect {
  readonly address: Address;
  readonly says: string;
}

const CLUELESS = 'If this address is another one each time, the action was hashed in another way than it was sent.';

/**
 * Explains a signature of an unknown signer: the signer is known in another role, or the signature becomes a known agent's under one of
 * the common mistakes. Runs only for actions that are refused anyway, and does not change the refusal.
 */
export async function diagnose({ store, access: { crypto } }: Gateway, venue: Venue, patient: Patient): Promise<string> {
  const misfit: Misfit = { keccak: crypto.keccak, canonical: patient.canonical, extras: patient.extras, chainId: venue.definition.chainId };
  const suspects = isShort(misfit.canonical) ? suspectsOf(misfit, crypto.recover, patient.signature) : [];
  const known = await store.signers.acquaintances([...patient.candidates, ...suspects.map(({ address }) => address)]);
  return (
    patient.candidates.map((address) => explainKnown(known, venue, address)).find((said) => said !== null) ??
    suspects.map((suspect) => explainMistake(known, venue, suspect)).find((said) => said !== null) ??
    CLUELESS
  );
}

/** Every mistake costs a hash of the whole action, so long actions are not diagnosed. */
const LONGEST_TREATED_BYTES = 4096;
const isShort = (canonical: Misfit['canonical']): boolean => packMessage(canonical).length <= LONGEST_TREATED_BYTES;

const suspectsOf = (misfit: Misfit, recover: Recover, signature: RecoverableSignature): Suspect[] =>
  MISTAKES.flatMap(({ says, digests }) =>
    digests(misfit).flatMap((digest) => {
      const address = recover(digest, signature);
      return address === null ? [] : [{ address, says }];
    }),
  );

function explainKnown(known: readonly Acquaintance[], { definition: { slug } }: Venue, address: Address): string | null {
  const seen = known.filter((each) => each.address === address);
  const agents = seen.filter(({ role }) => role === 'agent');
  const here = agents.find(({ chain }) => chain === slug);
  if (here?.mode === 'relayed') return `${address} was an agent, but was removed or replaced, or its approval has ended.`;
  if (here !== undefined) return `${address} is an agent of the native API: approve it with approveAgent before it signs here.`;
  if (agents.length > 0) return `${address} is an agent on ${chainsOf(agents)}, not on ${slug}: approve it here as well.`;
  if (seen.length === 0) return null;
  return `${address} is a master wallet: let one of its agents sign, or send an approveAgent that names its own address.`;
}

const chainsOf = (seen: readonly Acquaintance[]): string => [...new Set(seen.map(({ chain }) => chain))].join(', ');

function explainMistake(known: readonly Acquaintance[], { definition: { slug } }: Venue, { address, says }: Suspect): string | null {
  const seen = known.filter((each) => each.address === address);
  const isAgentHere = seen.some(({ role, chain, mode }) => role === 'agent' && chain === slug && mode === 'relayed');
  if (isAgentHere) return `Signed by agent ${address}, but ${says}.`;
  return seen.length === 0 ? null : `Signed by ${address}, but ${says}.`;
}
