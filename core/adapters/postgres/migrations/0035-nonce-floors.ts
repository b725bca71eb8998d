import { NOW_MS, type Migration } from './migration.js';

/**
 * Floors per trader and agent: an approval by another trader must not invalidate the nonces that a wallet uses for itself or its own
 * trader. Floors of earlier releases were per signer and could lie a day ahead; they are migrated up to the present.
 */
export const nonceFloors: Migration = {
  name: '0035-nonce-floors',
  async up(trx) {
    await trx.raw(`
      create table nonce_floors (
        agent text not null,
        trader text not null,
        floor bigint not null,
        primary key (agent, trader)
      );
      create index nonce_floors_age on nonce_floors (floor);
      comment on column nonce_floors.floor is 'what the agent signs for the trader is dead up to this nonce';
      insert into nonce_floors (agent, trader, floor)
      select agent, trader, least(max(floor), ${NOW_MS}) from agents join signer_nonces on signer = agent
      where mode = 'relayed' and floor > 0 group by agent, trader`);
  },
};
