import type { Address } from '../../core/types.js';
import type { InfoContext } from './info-type.js';
import type { Whose } from './order-shapes.js';

export const whose = async ({ gateway, venue, universe, traderOf }: InfoContext, user: Address): Promise<Whose> => ({
  gateway,
  venue,
  universe,
  trader: await traderOf(user),
});
