import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import type { OpenTradesQuery, WalletQuery } from '../../core/ports/account-chain.js';
import type { OrderStatus } from '../../core/domain/order.js';
import { NEXT } from '../../core/domain/order-machine.js';
import { venueOf, type Gateway } from '../../core/gateway.js';
import type { Hex } from '../../core/types.js';
import { SLUG } from './invariants/evidence.js';
import type { Rules } from './plan.js';
import type { World } from './world.js';

/** A build that is broken on purpose, to prove that an invariant notices. Nothing of it is in the product. */
export interface BrokenBuild {
  /** The invariant that must notice. */
  readonly breaks: string;
  /** Its plans are drawn by these rules; absent: the sixth. */
  readonly rules?: Rules;
  /** Returns what ends it; null where it changes nothing but the world of the run. */
  readonly begin: (world: World) => Promise<Undo | null>;
}

export type Undo = () => void;

/** A gateway that writes something else than it should: a trigger changes the row on its way. */
const inDatabase =
  (table: string, when: string, body: string) =>
  async ({ gate }: World): Promise<null> => {
    await gate.read(`create function sabotage() returns trigger language plpgsql as $$ begin ${body} end $$`);
    await gate.read(`create trigger sabotage ${when} on ${table} for each row execute function sabotage()`);
    return null;
  };

export const BROKEN_BUILDS: Readonly<Record<string, BrokenBuild>> = {
  'double send': { breaks: 'one mined transaction per job', begin: sendTwice },
  'lost receipt': {
    breaks: 'every job has an end',
    begin: inDatabase(
      'relay_jobs',
      'before update',
      `if new.is_over and new.mined is not null and new.id % 3 = 0 then return old; end if; return new;`,
    ),
  },
  'reverted counts as mined': {
    breaks: 'one mined transaction per job',
    begin: inDatabase('relay_jobs', 'before update', `if new.state = 'reverted' then new.state := 'mined'; end if; return new;`),
  },
  'order misses its transaction': {
    breaks: 'a mined job has its order',
    begin: inDatabase(
      'orders',
      'before update',
      `if old.status = 'prepared' and new.status in ('pending', 'open', 'filled') and new.id % 2 = 0 then return old; end if; return new;`,
    ),
  },
  'wrong ledger': {
    breaks: 'the gas ledger equals the balance',
    begin: inDatabase('relay_costs', 'before insert', 'new.cost := new.cost + 1; return new;'),
  },
  'forgotten cost': {
    breaks: 'the gas ledger equals the balance',
    begin: inDatabase('relay_costs', 'before insert', 'if new.job_id % 3 = 0 then return null; end if; return new;'),
  },
  'forgotten transactions': {
    breaks: 'the quota of a trader holds',
    // Every job seems to be the first of its day.
    begin: inDatabase(
      'relay_jobs',
      'before insert',
      'new.created_at := new.created_at - 86400000 * (1000 - least(new.id, 999)); return new;',
    ),
  },
  'forgotten spending': {
    breaks: 'the budget of a wallet holds',
    begin: inDatabase('relay_cost_days', 'before insert or update', 'new.cost := 0; return new;'),
  },
  'step of a job is left out': {
    breaks: 'jobs follow their table',
    begin: inDatabase(
      'relay_jobs',
      'before update',
      `if old.state = 'assigned' and new.state = 'signed' and new.id % 2 = 0 then new.state := 'unknown'; end if; return new;`,
    ),
  },
  'lane stays blocked': {
    breaks: 'no lane stays blocked',
    begin: inDatabase(
      'relay_lanes',
      'before update',
      'if old.blocked_since is not null and new.blocked_since is null then new.blocked_since := old.blocked_since; new.blocked_reason := old.blocked_reason; end if; return new;',
    ),
  },
  'journal with a gap': {
    breaks: 'the journal has no gap, repeat or change',
    begin: inDatabase('journal', 'before insert', 'if new.cursor % 4 = 0 then return null; end if; return new;'),
  },
  'journal is rewritten': {
    breaks: 'the journal has no gap, repeat or change',
    begin: inDatabase(
      'journal',
      'after insert',
      'update journal set at = at + 1 where chain = new.chain and trader = new.trader and cursor = new.cursor - 3; return null;',
    ),
  },
  'lost fill': {
    breaks: 'the view equals the chain',
    begin: inDatabase('orders', 'before update', `if new.status = 'filled' and new.id % 2 = 0 then return old; end if; return new;`),
  },
  'wrong position': {
    breaks: 'the view equals the chain',
    begin: inDatabase(
      'positions',
      'before insert or update',
      `new.state := (replace(new.state::text, '"long": true', '"long": false'))::jsonb; return new;`,
    ),
  },
  'forgotten rollback': {
    breaks: 'the view equals the chain',
    begin: inDatabase('chain_events', 'before update', 'new.orphaned := old.orphaned; return new;'),
  },
  'order is forgotten': {
    breaks: 'what clients were answered holds',
    begin: inDatabase(
      'exchange_orders',
      'after update',
      'if new.oid % 2 = 0 then delete from exchange_legs where chain = new.chain and oid = new.oid; delete from exchange_orders where chain = new.chain and oid = new.oid; end if; return null;',
    ),
  },
  'order of no one': {
    breaks: 'no order without a request',
    begin: inDatabase('exchange_orders', 'before insert', `new.cloid := '0x' || lpad(to_hex(new.oid), 32, '0'); return new;`),
  },
  'order is stored twice': {
    breaks: 'a signed request makes one order',
    begin: inDatabase(
      'exchange_orders',
      'after insert',
      `if pg_trigger_depth() = 1 and new.oid % 2 = 0 then
         insert into exchange_orders select (jsonb_populate_record(new, jsonb_build_object('oid', new.oid + 1000000))).*;
       end if; return null;`,
    ),
  },
  'order opens twice': {
    breaks: 'a signed request makes one order',
    begin: inDatabase(
      'exchange_legs',
      'after insert',
      `if pg_trigger_depth() = 1 and new.role = 'open' then
         insert into exchange_legs select (jsonb_populate_record(new, jsonb_build_object('seq', new.seq + 100))).*;
       end if; return null;`,
    ),
  },
  'order stays after its cancel': { breaks: 'what was canceled or replaced is over', begin: cancelNothing },
  'level loses its order': {
    breaks: 'every level is listed under its order',
    // On every trade but the first, the level of an order for several trades is no one's.
    begin: inDatabase(
      'triggers',
      'before insert',
      `if new.origin = 'bot' and new.leg > 1 then new.owner := nextval('entity_ids'); end if; return new;`,
    ),
  },
  'level stays with the former order': {
    breaks: 'every level is listed under its order',
    // An order that sets the trigger of a trade again does not get it.
    begin: inDatabase(
      'triggers',
      'before insert',
      `if exists (select from triggers held where held.chain = new.chain and held.trader = new.trader and held.state = 'standing'
         and held.place = new.asked_place and held.kind = new.kind) then
         return null;
       end if; return new;`,
    ),
  },
  'cancel removes nothing': { breaks: 'every level is listed under its order', begin: cancelNothing },
  'message without a row': {
    breaks: 'streams equal the journal',
    begin: inDatabase(
      'journal',
      'after insert',
      `update journal set kind = 'agent'
       where chain = new.chain and trader = new.trader and cursor = new.cursor - 3 and kind = 'order'; return null;`,
    ),
  },
  'message differs from its row': {
    breaks: 'streams equal the journal',
    begin: inDatabase(
      'journal',
      'after insert',
      `update journal set fact = jsonb_set(fact, '{order,status}', '"canceled"')
       where chain = new.chain and trader = new.trader and cursor = new.cursor - 3 and kind = 'order'; return null;`,
    ),
  },
  'collateral of orders is forgotten': { breaks: 'the equity of an account is whole', begin: forgetOrders },
  'unknown log counts as a rejection': {
    breaks: 'what was executed is never called refused',
    begin: () => Promise.resolve(rejectUnexplained()),
  },
  'unknown log halts nothing': {
    breaks: 'openings alone wait for unknown outcomes',
    begin: alteredState('contract', (contract) => contract && { ...contract, unread: [] }),
  },
  'signs before the contract is checked': {
    breaks: 'nothing is signed on an unchecked contract',
    // What was found before seems to be about the newest change.
    begin: alteredState('checked', (checked, { contract }) => checked && { ...checked, cut: contract?.cut ?? null, block: LATEST }),
  },
  'kept log stays kept': {
    breaks: 'a contract that is as before is used as before',
    begin: inDatabase('unread_transactions', 'before delete', `return null;`),
  },
  'believes the nonces': {
    breaks: 'one mined transaction per job',
    rules: 7,
    // Transactions that were forgotten seem to be those of another program.
    begin: inStores(({ recovery }) => ({ recovery: { ...recovery, survivors: nothing, missing: nothing } })),
  },
  'forgets the floor': {
    breaks: 'no signed request takes effect twice',
    rules: 7,
    begin: inContinuity((real) => ({
      lastLoss() {
        const loss = real.lastLoss();
        return loss && { ...loss, detectedAt: loss.detectedAt - LONG_AGO_MS };
      },
    })),
  },
  'signs before it looked': {
    breaks: 'nothing is signed in doubt',
    rules: 7,
    begin: inContinuity(() => ({ doubt: () => null, known: () => Promise.resolve() })),
  },
  'every switchover lost commits': { breaks: 'a switchover is no loss', rules: 7, begin: proveEverything },
  'ids go on where they were': { breaks: 'no id is given twice', rules: 7, begin: skipNothing },
  'nothing is missed': {
    breaks: 'what was lost is reported',
    rules: 7,
    begin: inDatabase('continuity_reports', 'before insert', 'new.missing_from := null; new.missing_to := null; return new;'),
  },
  'rejection that no code handles': {
    breaks: 'nothing unhandled',
    begin({ scheduler }) {
      scheduler.lane('world', 'sabotage').post(30_000, 'rejection', () => void Promise.reject(new Error('left alone')));
      return Promise.resolve(null);
    },
  },
};

/** Later than any block of a run. */
const LATEST = 10n ** 15n;

/** A build in which an outcome that cannot be read ends its order. */
function rejectUnexplained(): Undo {
  const rows = [NEXT.pending, NEXT.timed_out] as { unexplained?: OrderStatus }[];
  for (const row of rows) row.unexplained = 'rejected';
  return () => {
    for (const row of rows) row.unexplained = 'pending';
  };
}

type State = ReturnType<typeof venueOf>['state'];

/** A build that takes what it knows of the contract for something else, in the replicas of the start. */
function alteredState<Name extends 'contract' | 'checked'>(name: Name, alter: (value: State[Name], state: State) => State[Name]) {
  return ({ replicas }: World): Promise<null> => {
    for (const replica of replicas.values()) {
      const gateway = replica.gateway();
      if (gateway === null) continue;
      const { state } = venueOf(gateway, SLUG);
      let kept = state[name];
      Object.defineProperty(state, name, { get: () => alter(kept, state), set: (value: State[Name]) => void (kept = value) });
    }
    return Promise.resolve(null);
  };
}

const LONG_AGO_MS = 600_000;
const nothing = (): Promise<never[]> => Promise.resolve([]);

/** Builds whose stores do something else, in the replicas of the start. */
function inStores(alter: (store: Gateway['store']) => Partial<Gateway['store']>) {
  return ({ replicas }: World): Promise<null> => {
    for (const replica of replicas.values()) {
      const store = replica.gateway()?.store;
      // The parts of the gateway keep each of them.
      for (const [name, changed] of Object.entries(store === undefined ? {} : alter(store)))
        Object.assign(store?.[name as keyof typeof store] ?? {}, changed);
    }
    return Promise.resolve(null);
  };
}

type Continuity = Gateway['store']['continuity'];

function inContinuity(alter: (real: Continuity) => Partial<Continuity>) {
  return inStores(({ continuity }) => ({ continuity: { ...continuity, ...alter({ ...continuity }) } }));
}

const SUSPECTED_EVERY_MS = 100;

/** A build that takes every suspicion for a loss. */
function proveEverything({ replicas, scheduler }: World): Promise<null> {
  const timers = scheduler.lane('world', 'sabotage');
  const suspecting = new Set<string>();
  const look = (): void => {
    for (const replica of replicas.values()) {
      const { name } = replica;
      const { continuity } = replica.gateway()?.store ?? {};
      if (continuity === undefined) continue;
      if (continuity.doubt() !== null) suspecting.add(name);
      else if (suspecting.delete(name)) void continuity.prove({ reason: 'a switchover', at: 0 }).catch(() => undefined);
    }
    timers.schedule(SUSPECTED_EVERY_MS, 'suspect', look);
  };
  timers.schedule(SUSPECTED_EVERY_MS, 'suspect', look);
  return Promise.resolve(null);
}

/** A gateway that goes on with the ids after those that are left. */
async function skipNothing({ gate }: World): Promise<null> {
  await gate.read(`
    create function sabotage() returns trigger language plpgsql as $$ begin
      perform setval('entity_ids', last_value - 4294967296) from entity_ids where last_value > 4294967296;
      return null; end $$`);
  await gate.read(
    'create constraint trigger sabotage after insert on commit_losses deferrable initially deferred for each row execute function sabotage()',
  );
  return null;
}

const EVERY = 3;

/** A relayer that signs the same call again with its next nonce. */
function sendTwice({ venue }: World): Promise<null> {
  const [chain] = venue.sandbox.chains;
  const { relayer } = venue.sandbox.controls.accounts;
  let sent = 0;
  chain?.node.onBlock(({ number }) => {
    void (async () => {
      const block = (await chain.node.request('eth_getBlockByNumber', [`0x${number.toString(16)}`, true])) as {
        transactions: { from: string; to: Hex; input: Hex; gas: Hex; maxFeePerGas: Hex; maxPriorityFeePerGas: Hex }[];
      } | null;
      const own = block?.transactions.find(({ from }) => from.toLowerCase() === relayer.address.toLowerCase());
      if (own === undefined || (sent += 1) % EVERY !== 0) return;
      const again = await relayer.signer.signTransaction({
        type: 'eip1559',
        chainId: chain.controls.definition.chainId,
        nonce: Number(await chain.node.request('eth_getTransactionCount', [relayer.address, 'pending'])),
        to: own.to,
        data: own.input,
        gas: BigInt(own.gas),
        maxFeePerGas: BigInt(own.maxFeePerGas),
        maxPriorityFeePerGas: BigInt(own.maxPriorityFeePerGas),
      });
      await chain.node.request('eth_sendRawTransaction', [again]);
    })().catch(() => undefined);
  });
  return Promise.resolve(null);
}

/** A gateway whose accounts end with the wallet and the positions. */
function forgetOrders({ replicas }: World): Promise<null> {
  for (const replica of replicas.values()) {
    const chain = replica.gateway()?.venues.get(SLUG)?.chain;
    if (chain === undefined) continue;
    const real = { ...chain };
    Object.assign(chain, {
      wallet: async (query: WalletQuery) => ({ ...(await real.wallet(query)), inOrders: new Map() }),
      wholeAccount: async (query: OpenTradesQuery & WalletQuery) => ({ ...(await real.wholeAccount(query)), inOrders: new Map() }),
    });
  }
  return Promise.resolve(null);
}

const LEFT_UNDONE = 'left undone';
const SUCCESS = '"success"';

/** A facade that answers every cancel with success: its transaction is never sent. */
async function cancelNothing(world: World): Promise<Undo> {
  await inDatabase(
    'relay_jobs',
    'before insert',
    `if new.context ->> 'kind' = 'cancel' then
       new.state := 'refused'; new.is_over := true; new.refusal := 'policy'; new.note := '${LEFT_UNDONE}';
     end if; return new;`,
  )(world);
  const refused = new RegExp(`\\{"error":"[^"]*${LEFT_UNDONE}[^"]*"\\}`, 'g');
  const onRequest = (message: unknown): void => {
    const { response } = message as { readonly response: ServerResponse };
    const end = response.end.bind(response) as (body?: unknown) => ServerResponse;
    // Its length was sent before.
    const answer = (body?: unknown): ServerResponse =>
      end(
        typeof body === 'string' && body.includes('"type":"cancel"') ? body.replace(refused, (text) => SUCCESS.padEnd(text.length)) : body,
      );
    response.end = answer as typeof response.end;
  };
  subscribe('http.server.request.start', onRequest);
  return () => {
    unsubscribe('http.server.request.start', onRequest);
  };
}
