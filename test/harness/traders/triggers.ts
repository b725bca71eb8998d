import type { Store } from '../../../core/ports/store.js';
import type { ChainSlug } from '../../../core/chains/chains.js';
import type { Trigger } from '../../../core/ports/stores/triggers.js';
import type { Address } from '../../../core/types.js';

/** Triggers whose transaction is not indexed yet. */
export const triggersUnderWay = async ({ facade }: Pick<Store, 'facade'>, chain: ChainSlug, trader: Address): Promise<Trigger[]> =>
  (await facade.triggers.live(chain, trader)).filter(({ phase }) => phase === 'underWay');
