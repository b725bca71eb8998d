import type { KnexStore } from '../../../core/adapters/postgres/create-store.js';
import type { Store } from '../../../core/ports/store.js';
import type { SignedAction } from '../../../core/ports/stores/relay.js';

/** An action as the books keep it when its nonce is claimed, for jobs that no request has made. */
export async function storeAction(store: Store, action: Omit<SignedAction, 'id'>): Promise<SignedAction> {
  const { chain, signer, trader, envelope, actionHash, form, network, nonce, receivedAt } = action;
  const row = { chain, signer, trader, envelope, action_hash: actionHash, form, network, nonce: nonce.toString(), received_at: receivedAt };
  const [stored] = await (store as KnexStore).db('relay_actions').insert(row, ['id']);
  return { ...action, id: (stored as { id: bigint }).id };
}
