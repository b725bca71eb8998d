import { approvalEnd } from '../../core/access/facade-agents.js';
import type { Crypto } from '../../core/access/signature.js';
import type { Address } from '../../core/types.js';
import type { RelayPurpose, SignedAction } from '../../core/ports/stores/relay.js';
import { ACTIONS } from '../actions/index.js';
import { readEnvelope } from '../envelope.js';
import { actionHash } from '../signing/action-hash.js';
import { decodeAction } from '../signing/canonical.js';
import { readOrderedJson } from '../signing/ordered-json.js';
import { createPhantomDigest } from '../signing/phantom-agent.js';
import { readUserSigned, userSignedDigest } from '../signing/user-signed.js';

/** Why a stored action does not prove its trader's request; null if it does. */
export type VerifyAction = (action: SignedAction, purpose: RelayPurpose, now: number) => string | null;

interface Approval {
  readonly trader: Address | null;
  readonly agent: Address;
  readonly endsAt: number | null;
}

/** Cached approvals; an agent sends many actions under one. */
const MOST_KEPT = 10_000;

/**
 * Recovers the signer of a stored action from its text, and the trader from the stored approval of that signer: write access to the
 * database without a key of a trader or agent is not enough to get anything signed. An action of a batch is recovered once.
 */
export function createVerifyAction({ keccak, recover }: Crypto): VerifyAction {
  const digest = createPhantomDigest(keccak);
  const approvals = new Map<string, Approval | null>();
  const verified = new WeakMap<SignedAction, string | null>();

  function signerOf({ envelope: text, form, network, nonce }: SignedAction): Address | null {
    const envelope = readEnvelope(readOrderedJson(Buffer.from(text)));
    const row = ACTIONS.get(envelope.type);
    if (row?.scheme !== 'l1' || row.schema === 'any' || envelope.nonce !== nonce) return null;
    const read = decodeAction(row.schema, envelope.action).forms.find((each) => each.form === form);
    return read === undefined ? null : recover(digest(actionHash(keccak, read.json, envelope), network), envelope.signature);
  }

  function approvalIn(text: string): Approval | null {
    const envelope = readEnvelope(readOrderedJson(Buffer.from(text)));
    const row = ACTIONS.get(envelope.type);
    if (row?.scheme !== 'user-signed' || row.verdict.kind !== 'approve-agent') return null;
    const signed = readUserSigned(row.signed, envelope.action);
    return {
      trader: recover(userSignedDigest(keccak, row.signed, signed), envelope.signature),
      agent: signed.values.get('agentAddress') as Address,
      endsAt: approvalEnd(String(signed.values.get('agentName'))),
    };
  }

  function keptApproval(text: string): Approval | null {
    const known = approvals.get(text);
    if (known !== undefined) return known;
    const read = readable(() => approvalIn(text));
    if (approvals.size >= MOST_KEPT) approvals.clear();
    approvals.set(text, read);
    return read;
  }

  function doubtOf(action: SignedAction): string | null {
    return readable(() => signerOf(action)) === action.signer ? null : 'its signature is not that of its signer';
  }

  return (action, purpose, now) => {
    const doubt = verified.has(action) ? (verified.get(action) ?? null) : doubtOf(action);
    verified.set(action, doubt);
    // Reclaimed collateral always goes to the trader, independent of the requester.
    if (doubt !== null || action.signer === action.trader || purpose === 'reclaim') return doubt;
    if (action.approval == null) return 'the approval of its agent is not stored: let the trader approve the agent again';
    const approval = keptApproval(action.approval);
    if (approval?.trader !== action.trader || approval.agent !== action.signer)
      return 'the approval of its agent is not signed by its trader';
    const hasEnded = purpose === 'action' && approval.endsAt !== null && approval.endsAt <= now;
    return hasEnded ? 'the approval of its agent has ended' : null;
  };
}

/** Null if it cannot be parsed: then it is no proof. */
function readable<Read>(read: () => Read): Read | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** Epoch ms of the expiry set by the client; null if there is none. */
export function expiryOf({ envelope }: Pick<SignedAction, 'envelope'>): number | null {
  const { expiresAfter } = JSON.parse(envelope) as { readonly expiresAfter?: unknown };
  return typeof expiresAfter === 'number' ? expiresAfter : null;
}
