import type { Address } from '../../core/types.js';
import type { InfoContext } from './info-type.js';
import type { AccountContext } from './order-shapes.js';

export const readAccount = async ({ gateway, venue, universe, traderOf }: InfoContext, user: Address): Promise<AccountContext> => ({
  gateway,
  venue,
  universe,
  trader: await traderOf(user),
});
