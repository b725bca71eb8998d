import { decodeEventLog, encodeEventTopics, type Hex, type Log } from 'viem';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import type { Trade } from '../../harness/diamond/diamond-calls.js';
import { chainTrader } from '../../harness/traders/chain-trader.js';
import { SLUG, type Evidence } from './evidence.js';

/** Who set the take profits and stop losses of a trader's trades, from the logs of the chain as it is, and not from what the index stored. */
export interface LevelHistory {
  /** Those on open trades, and those of orders that rest. */
  readonly levels: readonly ChainLevel[];
  /** Bots' orders whose level closed a trade. */
  readonly filled: ReadonlySet<string>;
  /** Bots' orders that ever set a level, with the block of the last time. */
  readonly setIn: ReadonlyMap<string, bigint>;
}

export interface ChainLevel {
  readonly index: number;
  readonly kind: 'tp' | 'sl';
  /** 1e10. */
  readonly price: bigint;
  /** The oid of the bot's order that set it last; null if none did. */
  readonly owner: string | null;
  readonly trade: Trade;
}

interface Held {
  readonly price: bigint;
  readonly owner: string | null;
}

type Kind = ChainLevel['kind'];

const WATCHED = ['TradeStored', 'TradeTpUpdated', 'TradeSlUpdated', 'TradePositionUpdated', 'TradeClosed', 'LimitExecuted'] as const;

/** The fields of those logs that are looked at. */
interface LogArgs {
  readonly index: number;
  readonly trade?: { readonly tp: bigint; readonly sl: bigint };
  readonly newTp?: bigint;
  readonly newSl?: bigint;
  readonly orderType?: number;
}

const CLOSED_BY: Readonly<Record<number, Kind>> = { 4: 'tp', 5: 'sl' };

const SETTERS = `
  select hash, o.oid::text from relay_hashes join relay_jobs job on job.id = relay_hashes.job_id
  join exchange_orders o on o.chain = job.chain and o.action = job.parent and o.item = (job.context ->> 'item')::integer
  where job.trader = $1 and job.context ->> 'kind' in ('order', 'child')`;

/** A change of one that rested with its order counts once it is in a block. */
const IS_MADE = `not exists (select from relay_jobs job where job.chain = o.chain and job.parent = o.action and job.context ->> 'kind' = 'child'
  and (job.context ->> 'item')::integer = o.item and job.state <> 'mined')`;

/** Take profits and stop losses that came with an opening, by the trade that it became. */
const CHILDREN = `
  select o.oid::text, o.terms -> 'order' -> 'style' ->> 'tpsl' as kind, parent.state -> 'fill' ->> 'tradeIndex' as index
  from exchange_orders o join orders parent on parent.id = o.parent_order
  where o.trader = $1 and parent.state -> 'fill' ->> 'tradeIndex' is not null and ${IS_MADE} order by o.oid desc`;

/** Those that came with an order that rests, by its index. */
const RESTING_CHILDREN = `
  select o.oid::text, o.terms -> 'order' -> 'style' ->> 'tpsl' as kind, substring(parent.order_key from '^resting:(.*)$') as index
  from exchange_orders o join orders parent on parent.id = o.parent_order
  where o.trader = $1 and parent.status = 'open' and parent.order_key like 'resting:%' and ${IS_MADE} order by o.oid desc`;

export async function levelHistory({ world, bots }: Evidence, trader: string, privateKey: Hex): Promise<LevelHistory> {
  const [chain] = world.venue.sandbox.controls.chains;
  if (chain === undefined) throw new Error('the sandbox has no chain');
  const setters = new Map(
    (await world.gate.read<{ hash: string; oid: string }>(SETTERS, [trader])).map(({ hash, oid }) => [hash.toLowerCase(), oid]),
  );
  const children = await world.gate.read<{ oid: string; kind: Kind; index: string }>(CHILDREN, [trader]);
  const resting = await world.gate.read<{ oid: string; kind: Kind; index: string }>(RESTING_CHILDREN, [trader]);
  const held = new Map<string, Held>();
  const filled = new Set<string>();
  const setIn = new Map<string, bigint>();
  const keyOf = (kind: Kind, index: number): string => `${kind} ${index}`;
  const put = (kind: Kind, index: number, level: Held, block: bigint): void => {
    held.set(keyOf(kind, index), level);
    if (level.owner !== null) setIn.set(level.owner, block);
  };
  for (const log of await logsOf(
    (method, params) => chain.request(method, params),
    chain.definition.diamond,
    trader,
    bots.relayerWallets[0]?.block ?? 0,
  )) {
    const { eventName, args } = decode(log);
    const { index, trade, newTp, newSl, orderType = 0 } = args;
    const block = BigInt(log.blockNumber ?? 0n);
    const setter = setters.get((log.transactionHash ?? '').toLowerCase()) ?? null;
    if (eventName === 'TradeStored' && trade !== undefined)
      for (const kind of ['tp', 'sl'] as const) {
        const child = children.find((each) => each.kind === kind && Number(each.index) === index)?.oid ?? null;
        put(kind, index, { price: trade[kind], owner: trade[kind] === 0n ? null : child }, block);
      }
    if (eventName === 'TradeTpUpdated' && newTp !== undefined)
      put('tp', index, { price: newTp, owner: newTp === 0n ? null : setter }, block);
    if (eventName === 'TradeSlUpdated' && newSl !== undefined)
      put('sl', index, { price: newSl, owner: newSl === 0n ? null : setter }, block);
    // The contract moves a stop loss with the collateral of its trade: it stays the same order's.
    if (eventName === 'TradePositionUpdated' && newSl !== undefined) {
      const before = held.get(keyOf('sl', index));
      held.set(keyOf('sl', index), { price: newSl, owner: before?.owner ?? null });
    }
    const closer = CLOSED_BY[orderType];
    if (eventName === 'LimitExecuted' && closer !== undefined) {
      const owner = held.get(keyOf(closer, index))?.owner ?? null;
      if (owner !== null) filled.add(owner);
    }
  }
  const all = await chainTrader(chain, privateKey).trades();
  const trades = all.filter(({ tradeType }) => tradeType === 0);
  const levels = trades.flatMap((trade) =>
    (['tp', 'sl'] as const).flatMap((kind): ChainLevel[] => {
      const { index } = trade;
      const known = held.get(keyOf(kind, index));
      // A trade that is older than the logs has no level of a bot.
      if ((known?.price ?? trade[kind]) !== trade[kind])
        throw new Error(`by its logs the ${kind} of trade ${index} is ${known?.price}, by its state ${trade[kind]}`);
      return trade[kind] === 0n ? [] : [{ index, kind, price: trade[kind], owner: known?.owner ?? null, trade }];
    }),
  );
  const waiting = all
    .filter(({ tradeType }) => tradeType !== 0)
    .flatMap((trade) =>
      (['tp', 'sl'] as const).flatMap((kind): ChainLevel[] => {
        const owner = resting.find((each) => each.kind === kind && Number(each.index) === trade.index)?.oid ?? null;
        return trade[kind] === 0n ? [] : [{ index: trade.index, kind, price: trade[kind], owner, trade }];
      }),
    );
  return { levels: [...levels, ...waiting], filled, setIn };
}

type Request = (method: string, params: readonly unknown[]) => Promise<unknown>;
type RawLog = Pick<Log, 'topics' | 'data' | 'transactionHash'> & { readonly blockNumber: Hex | null };

async function logsOf(request: Request, address: string, trader: string, from: number): Promise<readonly RawLog[]> {
  const names = WATCHED.map((eventName) => encodeEventTopics({ abi: diamondAbi, eventName })[0]);
  const fromBlock: Hex = `0x${from.toString(16)}`;
  const found = (await request('eth_getLogs', [{ address, fromBlock, toBlock: 'latest', topics: [names] }])) as RawLog[];
  const user = trader.slice(2).toLowerCase();
  return found.filter(({ topics }) => topics[1]?.toLowerCase().endsWith(user) === true);
}

function decode({ topics, data }: RawLog): { readonly eventName: string; readonly args: LogArgs } {
  return decodeEventLog({ abi: diamondAbi, topics, data } as never) as { eventName: string; args: LogArgs };
}

/** Epoch ms. */
export async function timeOfBlock({ world }: Evidence, block: bigint): Promise<number> {
  const [chain] = world.venue.sandbox.controls.chains;
  const found = (await chain?.request('eth_getBlockByNumber', [`0x${block.toString(16)}`, false])) as { timestamp: Hex } | null;
  return Number(found?.timestamp ?? 0) * 1_000;
}

export interface LevelRow {
  readonly oid: string;
  readonly cloid: string | null;
  /** It came with an opening that is not on chain yet: it is open without a level there. */
  readonly is_waiting: boolean;
  /** The states of its transactions, for a violation. */
  readonly steps: string | null;
}

/** The orders of bots that are levels and nothing else. */
export const levelRows = ({ world }: Evidence, trader: string): Promise<LevelRow[]> =>
  world.gate.read<LevelRow>(
    `select oid::text, cloid, exists (select from orders where orders.id = o.parent_order and orders.is_live and orders.status <> 'open') as is_waiting, (
       select string_agg(job.id || ': ' || (
         select string_agg(after, ' ' order by seq) from seen_transitions where seen_transitions.id = job.id), '; ' order by job.id)
       from relay_jobs job where job.parent = o.action and (job.context ->> 'item')::integer = o.item) as steps
     from exchange_orders o where chain = $1 and trader = $2 and manner = 'protection' order by oid`,
    [SLUG, trader],
  );
