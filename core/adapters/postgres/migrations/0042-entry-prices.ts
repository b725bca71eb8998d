import type { Migration } from './migration.js';

/** The collateral price of each trade's opening, copied to its later fills and the position, to compute sizes in base units. */
export const entryPrices: Migration = {
  name: '0042-entry-prices',
  async up(trx) {
    const opening = (table: string): string => `
      from chain_events opened
      where opened.chain = ${table}.chain and opened.trader = ${table}.trader and opened.trade_index = ${table}.trade_index
        and opened.kind = 'executed' and opened.event ->> 'action' = 'open' and not opened.orphaned
        and jsonb_typeof(opened.event -> 'collateralPriceUsd') = 'object'`;
    await trx.raw(`
      update chain_events set event = jsonb_set(chain_events.event, '{entryPriceUsd}', opened.event -> 'collateralPriceUsd')
      ${opening('chain_events')} and chain_events.is_fill and chain_events.event -> 'entryPriceUsd' is null`);
    await trx.raw(`
      update positions set state = jsonb_set(positions.state, '{entryPriceUsd}', opened.event -> 'collateralPriceUsd')
      ${opening('positions')} and positions.state is not null and positions.state -> 'entryPriceUsd' is null`);
  },
};
