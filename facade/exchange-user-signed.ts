import { approveFacadeAgent, type FacadeApprovalOutcome } from '../core/access/facade-agents.js';
import type { Gateway, Venue } from '../core/gateway.js';
import type { Address } from '../core/types.js';
import type { ActionRow } from './actions/action-row.js';
import { admitAction, refusalOf, type OnCounted } from './admit-action.js';
import type { Envelope } from './signing/read-body.js';
import { DONE, nonceText, refused, TEXTS, type ExchangeReply } from './reply.js';
import { multiSigDigests, readUserSigned, userSignedDigest, type UserSigned } from './signing/user-signed.js';

type UserRow = Extract<ActionRow, { scheme: 'user-signed' }>;
export type WalletRow = Exclude<ActionRow, { scheme: 'l1' }>;

interface Posted {
  readonly envelope: Envelope;
  readonly onCounted: OnCounted;
}

/** Actions that a wallet signs field by field (EIP-712). Vault and expiry do not apply to them. */
export function createUserSignedExchange(gateway: Gateway) {
  const { keccak, recover } = gateway.access.crypto;

  const noOp = async (venue: Venue, signer: Address, { envelope: { nonce }, onCounted }: Posted): Promise<ExchangeReply> => {
    const untimely = refusalOf(gateway, venue, { nonce, vault: null, expiresAfter: null });
    if (untimely !== null) return refused(untimely);
    const admission = await admitAction(gateway, venue, {
      candidates: [signer],
      nonce,
      weight: { scope: 'agent', weight: 1, items: 0 },
      onCounted,
    });
    return admission.kind === 'refused' ? refused(admission.text) : DONE;
  };

  const act = async (venue: Venue, { verdict }: UserRow, posted: Posted, call: UserCall): Promise<ExchangeReply> => {
    if (verdict.kind === 'approve-agent')
      return answer(call, await approveFacadeAgent(gateway, venue, approvalOf(call, posted.envelope)), venue);
    if (verdict.kind !== 'no-op') return refused(verdict.kind === 'refused' ? verdict.text : 'Unsupported action.');
    const refusal = verdict.refusal?.(call.signed.values) ?? null;
    return refusal === null ? noOp(venue, call.signer, posted) : refused(refusal);
  };

  return async (venue: Venue, row: WalletRow, posted: Posted): Promise<ExchangeReply> => {
    const { envelope } = posted;
    if (row.scheme === 'multi-sig') {
      const signers = multiSigDigests(keccak, envelope.action, envelope).map((digest) => recover(digest, envelope.signature));
      return refused(signers.every((signer) => signer === null) ? TEXTS.unrecoverable : row.verdict.text);
    }
    const signed = readUserSigned(row.signed, envelope.action);
    const signer = recover(userSignedDigest(keccak, row.signed, signed), envelope.signature);
    if (signer === null) return refused(TEXTS.unrecoverable);
    const signedNonce = signed.values.get('nonce') ?? signed.values.get('time');
    if (signedNonce !== envelope.nonce)
      return refused(`Invalid nonce: the envelope says ${envelope.nonce}, the signed action ${String(signedNonce)}`);
    return act(venue, row, posted, { signed, signer });
  };
}

interface UserCall {
  readonly signed: UserSigned;
  readonly signer: Address;
}

const approvalOf = ({ signed: { values, signatureChainId }, signer }: UserCall, { nonce, signature }: Envelope) => ({
  trader: signer,
  agent: values.get('agentAddress') as Address,
  name: String(values.get('agentName')),
  network: values.get('hyperliquidChain') === 'Mainnet' ? ('Mainnet' as const) : ('Testnet' as const),
  nonce,
  signatureChainId,
  signature,
});

function answer({ signer, signed }: UserCall, outcome: FacadeApprovalOutcome, { definition, clock }: Venue): ExchangeReply {
  switch (outcome.kind) {
    case 'approved':
      return { ...DONE, status: 'ok', response: { type: 'default' }, delegationTx: outcome.delegationTx };
    case 'removed':
      return DONE;
    case 'not-for-us':
      return refused(notForUs(outcome.tag, definition.testnet));
    case 'name-too-long':
      return refused(`Agent name must not be longer than ${outcome.longest} characters.`);
    case 'name-unreadable':
      return refused('Agent name must not contain control or direction characters.');
    case 'expired':
      return refused(TEXTS.agentExpired);
    case 'no-account':
      return refused(`${TEXTS.noAccount(signer)}. ${noAccountHint(definition.name)}`);
    case 'not-allowed':
      return refused(TEXTS.notAllowed(signer));
    case 'used':
      return refused(TEXTS.agentUsed);
    case 'too-many':
      return refused(TEXTS.tooManyAgents(outcome.most));
    case 'nonce':
      return refused(
        outcome.verdict.kind === 'taken'
          ? TEXTS.unrecoverable
          : nonceText(BigInt(String(signed.values.get('nonce'))), outcome.verdict, clock.now()),
      );
  }
}

const notForUs = (tag: string, isTestnet: boolean): string =>
  `Agent name must start with "${tag}": an approval without it could be a copy of one made for Hyperliquid.${
    isTestnet ? ' Here an approval signed with hyperliquidChain "Testnet" needs no tag.' : ''
  } The tag is agentNameTag of GET /v1/{chain}; a name has at most 16 characters.`;

const noAccountHint = (chain: string): string =>
  `The address holds nothing on ${chain}; if it is not the one that signed, other fields were signed than were sent: compare hyperliquidChain, signatureChainId and nonce. ${TEXTS.noContracts}`;
