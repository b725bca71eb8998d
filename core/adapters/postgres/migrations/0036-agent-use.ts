import type { Migration } from './migration.js';

/**
 * Use of a registration: a key that signed an accepted action for a trader stays with that trader, and a registration that never became
 * active is removed. Versions come from a sequence with wide steps: a row removed and created again must never have a former version, or
 * a replica would trust its outdated cache.
 */
const AGENTS = `
  alter table agents add column signed_at bigint, add column active_at bigint;
  comment on column agents.signed_at is 'when the agent first signed an action that was accepted for this trader';
  comment on column agents.active_at is 'when the registration was seen active on its chain';
  create sequence agent_versions start 1048576 increment 1048576;
  alter table agents alter column version set default nextval('agent_versions');
  create index agents_unused on agents (chain, created_at) where signed_at is null and active_at is null;
  update agents set signed_at = created_at where
    exists (select from relay_actions where relay_actions.chain = agents.chain and relay_actions.trader = agents.trader and signer = agents.agent)
    or exists (select from orders where orders.chain = agents.chain and orders.trader = agents.trader and orders.agent = agents.agent);
`;

/** Null: the key does not expire. */
const API_KEYS = 'alter table api_keys add column expires_at bigint';

/** A clock older than every accepted timestamp has no effect. */
const MASTER_CLOCKS = 'create index master_clocks_age on master_clocks (last_timestamp)';

export const agentUse: Migration = {
  name: '0036-agent-use',
  async up(trx) {
    for (const step of [AGENTS, API_KEYS, MASTER_CLOCKS]) await trx.raw(step);
  },
};
