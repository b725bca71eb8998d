import { NOW_MS } from '../migration.js';

/** Costs exact to the wei, refusals by reason, and alerts that survive the replica that raised them. */
export const OBSERVABILITY = `
  -- One narrow row per mined transaction, with sums per day and in total, so that no query reads all history.
  create table relay_costs (
    job_id bigint primary key references relay_jobs (id),
    chain text not null,
    wallet text not null,
    trader text,
    action text not null,
    outcome text not null,
    cost numeric(78, 0) not null,
    mined_at bigint not null
  );
  create index relay_costs_by_time on relay_costs (chain, wallet, mined_at) include (cost);

  create table relay_cost_days (
    chain text not null,
    day bigint not null,
    wallet text not null,
    trader text not null,
    action text not null,
    outcome text not null,
    transactions bigint not null,
    cost numeric(78, 0) not null,
    primary key (chain, day, wallet, trader, action, outcome)
  );

  create table relay_cost_totals (
    chain text not null,
    wallet text not null,
    action text not null,
    outcome text not null,
    transactions bigint not null,
    cost numeric(78, 0) not null,
    primary key (chain, wallet, action, outcome)
  );

  -- The transaction's action name; an unreadable envelope must not prevent the booking.
  create function relay_action_of(purpose text, parent bigint) returns text language plpgsql stable as $$
  begin
    if purpose <> 'action' then return purpose; end if;
    return (
      select case envelope::json -> 'action' ->> 'type'
        when 'order' then 'order'
        when 'cancel' then 'cancel' when 'cancelByCloid' then 'cancel'
        when 'modify' then 'modify' when 'batchModify' then 'modify'
        when 'updateLeverage' then 'leverage'
        when 'updateIsolatedMargin' then 'margin'
        when 'scheduleCancel' then 'scheduled-cancel'
        else 'other' end
      from relay_actions where id = parent);
  exception when others then
    return 'other';
  end $$;

  -- Only the wallet's lane writes its day rows, so there is no lock contention.
  create function relay_cost_add(entry relay_costs, sign integer) returns void language sql as $$
    insert into relay_cost_days as sums (chain, day, wallet, trader, action, outcome, transactions, cost)
    values (entry.chain, entry.mined_at / 86400000, entry.wallet, coalesce(entry.trader, ''), entry.action, entry.outcome, sign, sign * entry.cost)
    on conflict (chain, day, wallet, trader, action, outcome) do update
    set transactions = sums.transactions + excluded.transactions, cost = sums.cost + excluded.cost;
    insert into relay_cost_totals as sums (chain, wallet, action, outcome, transactions, cost)
    values (entry.chain, entry.wallet, entry.action, entry.outcome, sign, sign * entry.cost)
    on conflict (chain, wallet, action, outcome) do update
    set transactions = sums.transactions + excluded.transactions, cost = sums.cost + excluded.cost;
  $$;

  -- Booked in the statement that confirms a job, and reversed when its block is undone.
  create function relay_cost_book() returns trigger language plpgsql as $$
  declare entry relay_costs;
  begin
    delete from relay_costs where job_id = new.id returning * into entry;
    if found then perform relay_cost_add(entry, -1); end if;
    if new.mined is null then return null; end if;
    insert into relay_costs (job_id, chain, wallet, trader, action, outcome, cost, mined_at)
    values (
      new.id, new.chain, new.wallet, new.trader, relay_action_of(new.purpose, new.parent),
      case when new.purpose = 'no-op' then 'no-op' else new.state end,
      (new.mined -> 'costWei' ->> '$n')::numeric, coalesce(entry.mined_at, ${NOW_MS}))
    returning * into entry;
    perform relay_cost_add(entry, 1);
    return null;
  end $$;
  create trigger relay_jobs_cost after insert or update of mined, state on relay_jobs for each row
  when (new.mined is not null) execute function relay_cost_book();
  create trigger relay_jobs_cost_reversal after update of mined on relay_jobs for each row
  when (old.mined is not null and new.mined is null) execute function relay_cost_book();

  -- Refusal reasons, counted as they occur, because counting all history would be too slow.
  create table relay_refusals (
    chain text not null,
    reason text not null,
    count bigint not null,
    primary key (chain, reason)
  );
  create function relay_refusal_count() returns trigger language plpgsql as $$
  begin
    insert into relay_refusals as known (chain, reason, count) values (new.chain, coalesce(new.refusal, 'other'), 1)
    on conflict (chain, reason) do update set count = known.count + 1;
    return null;
  end $$;
  create trigger relay_jobs_refusal after update of state on relay_jobs for each row
  when (new.state = 'refused' and old.state <> 'refused') execute function relay_refusal_count();

  -- One open alert per condition across replicas.
  create table alerts (
    id bigint generated always as identity primary key,
    kind text not null,
    chain text not null,
    subject text not null,
    message text not null,
    details jsonb not null,
    opened_at bigint not null,
    notified_at bigint not null,
    expires_at bigint,
    recovered_at bigint
  );
  comment on column alerts.notified_at is 'when it was last sent; a repetition is due some time later';
  create unique index alerts_open on alerts (kind, chain, subject) where recovered_at is null;
  create index alerts_newest on alerts (id desc) where recovered_at is not null;

  -- Webhook calls, stored in the statement that changes the alert.
  create table alert_deliveries (
    id bigint generated always as identity primary key,
    event_id uuid not null unique default gen_random_uuid(),
    alert_id bigint not null references alerts (id),
    event text not null check (event in ('opened', 'repeated', 'recovered')),
    body text not null,
    state text not null default 'pending' check (state in ('pending', 'delivered', 'dead')),
    attempts integer not null default 0,
    created_at bigint not null,
    due_at bigint not null,
    last_error text,
    delivered_at bigint
  );
  create index alert_deliveries_pending on alert_deliveries (alert_id, id) where state = 'pending';
  create index alert_deliveries_dead on alert_deliveries (id) where state = 'dead';

  -- The replica that checks the conditions of alerts.
  create table alert_lease (
    singleton boolean primary key default true check (singleton),
    holder text not null,
    until bigint not null
  );
`;
