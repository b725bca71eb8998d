import type { ChainDefinition } from '../../core/chains/chains.js';
import type { Logger } from '../../core/ports/log.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Address, Cancel } from '../../core/types.js';
import { changesRules, frame, framesOf, movedPairs, movesExposure, type ChainFrame } from './chain-events.js';
import { createChainFollower, type NewBlocks } from './chain-follower.js';
import { createDiamondReader, type DiamondLog, type RpcRead } from './diamond-reader.js';
import type { MarketHours } from './market-hours.js';
import { readProtocolState, type ProtocolState } from './protocol-state.js';
import { historyRow, isExecution, unsidedTrade, type HistoryRow } from './trade-history.js';
import { readSide, readTouchedTrades, readTraders, readTrades, readUser } from './trade-reader.js';
import { openInterest, tradingVariables, type TradingVariables } from './trading-variables.js';
import type { WireValue } from './wire-format.js';

export interface ChainBackendOptions {
  readonly chain: Pick<ChainDefinition, 'slug' | 'chainId' | 'diamond'>;
  readonly read: RpcRead;
  readonly hours: MarketHours;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pollMs?: number;
  /** Notifies of the node's new blocks. */
  readonly onBlock?: (listener: () => void) => Cancel;
}

/** The chain host of one chain, as in production: parameters, trades and events, all read from the contract. */
export interface ChainBackend {
  readonly slug: string;
  readonly chainId: number;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Null until the contract could be read. */
  variables(): TradingVariables | null;
  openTrades(trader: Address | null): Promise<WireValue[]>;
  user(trader: Address): Promise<WireValue>;
  /** Newest first. */
  history(sinceMs: number): readonly HistoryRow[];
  onFrame(listener: (sent: ChainFrame) => void): Cancel;
}

const POLL_MS = 250;
/** Where blocks are announced, a poll only finds what an announcement missed. */
const ANNOUNCED_POLL_MS = 2_000;
/** Without logs the contract is read this often: controls may change values without a log. */
const REFRESH_MS = 5_000;
const KEPT_ROWS = 5_000;

export function createChainBackend({ chain, read, hours, clock, log, onBlock, ...options }: ChainBackendOptions): ChainBackend {
  const { pollMs = onBlock === undefined ? POLL_MS : ANNOUNCED_POLL_MS } = options;
  const { diamond } = chain;
  /** By transaction and log, so that a block read twice after a fault is published once. Oldest first. */
  const rows = new Map<string, HistoryRow>();
  const listeners = new Set<(sent: ChainFrame) => void>();
  let state: ProtocolState | null = null;
  let variables: TradingVariables | null = null;
  /** The variables as they were sent last, by name. */
  let sentTexts: ReadonlyMap<string, string> = new Map();
  let refreshedAt = 0;
  let loggedAt = 0;
  /** The contract's storage root at the last complete read; a full read costs the engine hundreds of calls. */
  let readRoot: string | null = null;
  let refreshId = 0;
  let rowId = 0;
  /** The last block whose time was read: executions come many to a block. */
  let timed = { block: -1, at: 0 };
  let unsubscribe: Cancel = () => undefined;

  const send = (sent: ChainFrame): void => {
    for (const listener of [...listeners]) listener(sent);
  };

  /** Sends the changed variables, as production does. */
  const rebuild = (): void => {
    if (!state) return;
    refreshId += 1;
    const next = tradingVariables(state, hours, { id: refreshId, at: clock.now() });
    const texts = new Map(Object.entries(next).map(([key, value]) => [key, JSON.stringify(value)]));
    const changed = Object.entries(next).filter(([key]) => texts.get(key) !== sentTexts.get(key));
    [variables, sentTexts] = [next, texts];
    send(frame('tradingVariables', Object.fromEntries(changed)));
  };

  const storageRoot = async (): Promise<string> => {
    const proof = (await read('eth_getProof', [diamond, [], 'latest'])) as { storageHash: string };
    return proof.storageHash;
  };

  const refresh = async (withRules: boolean): Promise<void> => {
    if (withRules) readRoot = await storageRoot();
    state = await readProtocolState(read, diamond, withRules ? null : state);
    refreshedAt = clock.now();
    rebuild();
  };

  /** Between two complete refreshes only what was traded. */
  const refreshPairs = async (logs: readonly DiamondLog[]): Promise<void> => {
    state = await readProtocolState(read, diamond, state, movedPairs(logs));
    rebuild();
  };

  /** Without logs: reads everything if the storage changed, otherwise only refreshes the timestamp. */
  const refreshIfChanged = async (): Promise<void> => {
    if ((await storageRoot()) !== readRoot) return refresh(true);
    refreshedAt = clock.now();
    rebuild();
  };

  const sendExposure = (entry: DiamondLog): void => {
    if (entry.name !== 'PairOiAfterV10Updated') return;
    const { collateralIndex, pairIndex } = entry.args;
    const exposure = state?.exposures.find((known) => known.collateralIndex === collateralIndex);
    const facts = state?.rules.collaterals[collateralIndex - 1];
    if (!exposure || !facts) return;
    const indices = { collateralIndex: String(collateralIndex), pairIndex: String(pairIndex) };
    send(frame('openInterestPairUpdated', { ...indices, pairBorrowingFees: openInterest(exposure, pairIndex, facts.precision) }));
  };

  const blockTime = async (block: number): Promise<number> => {
    if (timed.block === block) return timed.at;
    const answer = (await read('eth_getBlockByNumber', [`0x${block.toString(16)}`, false])) as { timestamp: string } | null;
    timed = { block, at: Number(answer?.timestamp ?? 0) };
    return timed.at;
  };

  const keepRow = async (entry: DiamondLog): Promise<HistoryRow | null> => {
    const key = `${entry.tx}:${entry.logIndex}`;
    if (!isExecution(entry) || rows.has(key) || !state) return null;
    const unsided = unsidedTrade(entry);
    const isLong = unsided ? await readSide(read, diamond, unsided.user, unsided.index) : false;
    const row = historyRow(entry, { id: rowId + 1, blockTime: await blockTime(entry.block), state, isLong });
    rowId += 1;
    rows.set(key, row);
    const [oldest] = rows.size > KEPT_ROWS ? rows.keys() : [];
    if (oldest !== undefined) rows.delete(oldest);
    return row;
  };

  const sendLogs = async (logs: readonly DiamondLog[]): Promise<void> => {
    const trades = await readTouchedTrades(createDiamondReader(read, diamond, 'latest'), logs);
    for (const entry of logs) {
      const row = await keepRow(entry);
      framesOf(entry).forEach(send);
      sendExposure(entry);
      if (row) send({ name: 'new-trade-history', ...row });
      const trade = trades.get(entry);
      if (trade) send(trade);
    }
  };

  const onBlocks = async ({ block, logs, hasForeignLogs, isReorg }: NewBlocks): Promise<void> => {
    const isFirst = state === null;
    if (isReorg) {
      rows.clear();
      timed = { block: -1, at: 0 };
    }
    const withRules = isFirst || isReorg || hasForeignLogs || logs.some(changesRules);
    const isOld = clock.now() - refreshedAt >= REFRESH_MS;
    if (withRules || (isOld && logs.length > 0)) await refresh(withRules);
    else if (logs.some(movesExposure)) await refreshPairs(logs);
    else if (isOld && clock.now() - loggedAt >= REFRESH_MS) await refreshIfChanged();
    if (logs.length > 0) loggedAt = clock.now();
    send(frame('currentBlock', block));
    if (isReorg) send(frame('deepReorg', null));
    if (!isFirst && !isReorg) return sendLogs(logs);
    for (const entry of logs) await keepRow(entry);
  };

  const follower = createChainFollower({ read, diamond, clock, log: log.child({ chain: chain.slug }), pollMs, onBlock, onBlocks });

  return {
    slug: chain.slug,
    chainId: chain.chainId,
    async start() {
      unsubscribe = hours.onChange(rebuild);
      await follower.start();
    },
    async stop() {
      unsubscribe();
      await follower.stop();
    },
    variables: () => variables,
    async openTrades(trader) {
      const asked = trader === null ? await readTraders(read, diamond) : [trader];
      return (await Promise.all(asked.map((one) => readTrades(read, diamond, one)))).flat();
    },
    user: (trader) => readUser(read, diamond, trader, state?.tokens ?? []),
    history: (sinceMs) => [...rows.values()].filter(({ date }) => Date.parse(date) >= sinceMs).reverse(),
    onFrame(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
