import type { KnexStore } from '../../../../core/adapters/postgres/create-store.js';
import type { Address } from '../../../../core/types.js';
import type { RelayJob } from '../../../../core/ports/stores/relay.js';
import { openReplicas, type Replicas } from '../../../harness/database/two-stores.js';
import { storeAction } from '../../../harness/hyperliquid/store-action.js';

const [WALLET, TRADER] = ['0xaa', '0xbb'] as Address[] as [Address, Address];

let replicas: Replicas;
let store: KnexStore;
beforeAll(async () => {
  replicas = await openReplicas();
  [store] = replicas.stores;
});
afterAll(() => replicas.close());

async function queue(): Promise<RelayJob> {
  const action = await storeAction(store, {
    chain: 'base',
    signer: TRADER,
    trader: TRADER,
    envelope: '{}',
    actionHash: '0x',
    form: 'canonical',
    network: 'a',
    nonce: 1n,
    receivedAt: 1,
  });
  return store.relay.queue(
    {
      chain: 'base',
      wallet: WALLET,
      trader: TRADER,
      purpose: 'action',
      parent: action.id,
      orderId: null,
      data: '0x',
      gas: 1n,
      context: null,
      notAfter: null,
    },
    1,
  );
}

const counted = async () => Object.fromEntries((await store.gas.refusals()).map(({ reason, count }) => [reason, count]));

describe('jobs that were never sent', () => {
  it('are counted by the reason that is given, whatever the words beside it are', async () => {
    await store.relay.refuse('base', (await queue()).id, { reason: 'paused', note: 'no nonce, no quota, no signed action' });
    await store.relay.setState('base', (await queue()).id, 'refused', 1, 'somebody else', 'nonce-used-elsewhere');
    expect(await counted()).toEqual({ paused: 1, 'nonce-used-elsewhere': 1 });
  });
});
