import type { Migration } from './migration.js';

/** The approval of an agent as its trader signed it: the relayer recovers the trader from it before it signs for the agent. */
export const agentApprovals: Migration = {
  name: '0033-agent-approvals',
  async up(trx) {
    await trx.raw(`
      create table agent_approvals (
        chain text not null,
        agent text not null,
        envelope text not null,
        approved_at bigint not null,
        primary key (chain, agent),
        foreign key (chain, agent) references agents (chain, agent) on delete cascade
      )`);
  },
};
