import type { Migration } from './migration.js';

/**
 * What a proof of a relayed transaction needs besides the action: the approvals that later ones took the place of, and the action that set
 * a leverage. A release before stores no action, so an action counts only while the leverage is the one that it set.
 */
export const proofs: Migration = {
  name: '0007-proofs',
  sql: `
  create table former_approvals (
    id bigint generated always as identity primary key,
    chain text not null,
    agent text not null,
    trader text not null,
    envelope text not null,
    approved_at bigint not null
  );
  comment on table former_approvals is 'approvals that a later one of the same agent took the place of, where actions may have been signed under them';
  create index former_approvals_of_agent on former_approvals (chain, agent, approved_at);
  alter table leverage_settings add column action bigint references relay_actions (id), add column action_leverage integer;
  comment on column leverage_settings.action is 'the signed action that set action_leverage';
  update leverage_settings setting set action = found.id, action_leverage = setting.leverage
  from (
    select distinct on (chain, trader, asset, leverage) id, chain, trader, asset, leverage from (
      select id, chain, trader, envelope::json -> 'action' ->> 'asset' as asset, envelope::json -> 'action' ->> 'leverage' as leverage
      from relay_actions where envelope like '%"type":"updateLeverage"%'
    ) signed
    order by chain, trader, asset, leverage, id desc
  ) found
  where found.chain = setting.chain and found.trader = setting.trader
    and found.asset = setting.pair_index::text and found.leverage = setting.leverage::text`,
};
