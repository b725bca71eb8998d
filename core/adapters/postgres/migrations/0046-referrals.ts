import type { Migration } from './migration.js';

/**
 * Referral events of the Diamond, of every referrer and not only the configured ones, so that a referrer configured later has its history.
 * Amounts are 1e18; the key is the log.
 */
const EVENTS = `
  create table referral_events (
    chain text not null,
    event_key text not null,
    block_number bigint not null,
    kind text not null check (kind in ('registered', 'rewarded', 'ally-rewarded', 'claimed')),
    beneficiary text not null,
    trader text,
    volume_usd numeric(78, 0) not null,
    amount_gns numeric(78, 0) not null,
    amount_usd numeric(78, 0) not null,
    at bigint not null,
    primary key (chain, event_key)
  );
  create index referral_events_earned on referral_events (chain, beneficiary, at);
  create index referral_events_blocks on referral_events (chain, block_number);
`;

export const referrals: Migration = {
  name: '0046-referrals',
  async up(trx) {
    await trx.raw(EVENTS);
  },
};
