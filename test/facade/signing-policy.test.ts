import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { loadCrypto } from '../../core/adapters/crypto/load-crypto.js';
import { approvalProof } from '../../core/access/facade-agents.js';
import { parseSignature } from '../../core/access/signature.js';
import type { Address } from '../../core/types.js';
import type { SignedAction } from '../../core/ports/stores/relay.js';
import { createBodyReader, createVerifyAction, expiryOf, type VerifyAction } from '../../facade/trade/signing-policy.js';
import { approveAgent, order, orderAction, signL1, type ExchangeBody } from '../harness/hyperliquid/exchange.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';

const [trader, agent, thief] = Array.from({ length: 3 }, () => new Wallet(generatePrivateKey()));
const NOW = Date.now();
let verify: VerifyAction;
let action: SignedAction;
beforeAll(async () => {
  verify = createVerifyAction(await loadCrypto(createRecordedLog()));
  action = await actionOf(agent);
});

const lower = (wallet: Wallet | undefined): Address => (wallet?.address ?? '').toLowerCase() as Address;

/** As the exchange stores it: what was signed, whatever the client's spelling of it. */
async function approvalBy(master: Wallet | undefined, name: string | null = null): Promise<string> {
  if (!master || !agent) throw new Error('no wallet');
  const { action: said, nonce, signature } = await approveAgent(master, agent.address, name, { network: 'Testnet' });
  const parsed = parseSignature(`${signature.r}${signature.s.slice(2)}${signature.v.toString(16)}`);
  if (parsed === null) throw new Error('no signature');
  return approvalProof({
    signatureChainId: BigInt(String(said['signatureChainId'])),
    network: 'Testnet',
    agent: lower(agent),
    name: name ?? '',
    nonce: BigInt(nonce),
    signature: parsed,
  });
}

async function actionOf(signer: Wallet | undefined, changes: Partial<SignedAction> = {}, body?: ExchangeBody): Promise<SignedAction> {
  if (!signer) throw new Error('no wallet');
  const sent = body ?? (await signL1(signer, orderAction(order())));
  return {
    id: 1n,
    chain: 'base',
    signer: lower(agent),
    trader: lower(trader),
    envelope: JSON.stringify(sent),
    actionHash: '0x00',
    form: 'canonical',
    network: 'a',
    nonce: BigInt(sent.nonce),
    receivedAt: NOW,
    approval: await approvalBy(trader),
    ...changes,
  };
}

const FORGED = 'its signature is not that of its signer';
const NOT_APPROVED = 'the approval of its agent is not signed by its trader';

describe('a stored action, before the relayer signs for it', () => {
  it('is believed when its signer recovers from it, and its trader from the approval of the signer', () => {
    expect(verify(action, 'action', NOW)).toBeNull();
    expect(verify(action, 'scheduled-cancel', NOW)).toBeNull();
  });

  it('of a trader that signs itself needs no approval', async () => {
    const own = await actionOf(trader, { signer: lower(trader), approval: null });
    expect(verify(own, 'action', NOW)).toBeNull();
  });

  it.each<[string, () => Promise<SignedAction>, string]>([
    ['signed by another key', () => actionOf(thief), FORGED],
    ['whose signer was exchanged', () => actionOf(agent, { signer: lower(thief) }), FORGED],
    [
      'whose size was changed',
      async () => actionOf(agent, { envelope: (await actionOf(agent)).envelope.replace('"0.01"', '"9.01"') }),
      FORGED,
    ],
    ['whose nonce was changed', () => actionOf(agent, { nonce: 5n }), FORGED],
    ['of another network', () => actionOf(agent, { network: 'b' }), FORGED],
    ['that is no body', () => actionOf(agent, { envelope: '{}' }), FORGED],
    ['of another trader', () => actionOf(agent, { trader: lower(thief) }), NOT_APPROVED],
    ['whose approval another wallet signed', async () => actionOf(agent, { approval: await approvalBy(thief) }), NOT_APPROVED],
    [
      'whose approval names another agent',
      async () => actionOf(agent, { approval: (await approvalBy(trader)).replace(lower(agent), lower(thief)) }),
      NOT_APPROVED,
    ],
    [
      'whose agent was never approved',
      () => actionOf(agent, { approval: null }),
      'the approval of its agent is not stored: let the trader approve the agent again',
    ],
  ])('is refused: %s', async (_, make, doubt) => {
    expect(verify(await make(), 'action', NOW)).toBe(doubt);
  });

  it('is refused after the approval ended, also where the books give it more time; what it left behind is still taken back', async () => {
    const ending = await actionOf(agent, { approval: await approvalBy(trader, `bot valid_until ${NOW}`) });
    expect(verify(ending, 'action', NOW - 1)).toBeNull();
    expect(verify(ending, 'action', NOW)).toBe('the approval of its agent has ended');
    expect(verify(ending, 'scheduled-cancel', NOW)).toBeNull();
    expect(verify({ ...ending, approval: null }, 'reclaim', NOW)).toBeNull();
  });
});

it('says when its client does not want it any more', async () => {
  if (!agent) throw new Error('no wallet');
  const read = createBodyReader();
  expect(expiryOf(read(action))).toBeNull();
  expect(expiryOf(read({ ...action, envelope: JSON.stringify(await signL1(agent, orderAction(), { expiresAfter: 77 })) }))).toBe(77);
});
