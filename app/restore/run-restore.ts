import { parseArgs } from 'node:util';
import { BaseError } from 'viem';
import { openStoppedDatabase, type StoppedDatabase } from '../../core/adapters/postgres/open-stopped-database.js';
import { isUnavailable, StoreStartError } from '../../core/adapters/postgres/faults.js';
import { createViemChain } from '../../core/adapters/evm/viem-chain.js';
import type { ChainConfig, Config } from '../../core/config/config.js';
import { StartError } from '../../core/errors.js';
import { redactText } from '../../core/observability/redact.js';
import type { Chain } from '../../core/ports/chain.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Logger } from '../../core/ports/log.js';
import { walletKey } from '../../core/ports/stores/continuity.js';
import type { ChainCursor } from '../../core/ports/stores/tracking.js';
import type { Address, Hex } from '../../core/types.js';
import { CommandError } from '../../relayer/command-client.js';
import { compareRestored } from '../../relayer/compare-restored.js';
import { differs, restoreText, type ChainDifference, type RestoreReport } from '../../relayer/restore-texts.js';
import { openRelayers, type WalletsOfChains } from '../compose/relayer.js';

export interface RestoreSurroundings {
  readonly readConfig: () => Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly write: (text: string) => void;
  readonly complain: (text: string) => void;
}

const EXIT = {
  done: 0,
  failed: 1,
  notUnderstood: 2,
  differs: 3,
  noRelayer: 4,
  noDatabase: 5,
  notMigrated: 6,
  running: 7,
  noNode: 8,
} as const;

export const RESTORED = 'a backup was put back (diamond-gateway restore)';

/** Runs `restore` and returns the exit code; the usage in `app/cli.ts` lists them. */
export async function runRestore(words: readonly string[], surroundings: RestoreSurroundings): Promise<number> {
  const { write, complain } = surroundings;
  try {
    const given = readArguments(words);
    const report = await restore(given, surroundings);
    write(`${given.json ? JSON.stringify(report, plainly, 2) : restoreText(report)}\n`);
    return report.marked === null && report.differs ? EXIT.differs : EXIT.done;
  } catch (error) {
    complain(`${error instanceof Error ? redactText(error.message) : String(error)}\n`);
    return exitCodeOf(error);
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode;
  if (error instanceof StoreStartError) return OF_PROBLEM[error.problem] ?? EXIT.noDatabase;
  if (error instanceof StartError) return EXIT.notUnderstood;
  return isUnavailable(error) ? EXIT.noDatabase : EXIT.failed;
}

const OF_PROBLEM: Partial<Record<StoreStartError['problem'], number>> = { 'not-migrated': EXIT.notMigrated, 'folder-in-use': EXIT.running };

async function restore(given: Given, { readConfig, clock, log }: RestoreSurroundings): Promise<RestoreReport> {
  const config = readConfig();
  const relaying = config.chains.filter(({ relayer }) => relayer !== null);
  if (relaying.length === 0 && !given.hasNoRelayer)
    throw new CommandError('No chain has a relayer in these settings. If there is none on purpose, add --no-relayer.', EXIT.noRelayer);
  const wallets = await openRelayers(relaying, { clock, log });
  const database = await openStoppedDatabase({ ...config.database, clock, log });
  try {
    const chains = await Promise.all(relaying.map((each) => withWallets(database, wallets, each)));
    const isRunning = (): Promise<string | null> =>
      database.running(chains.map(({ slug, addresses }) => ({ chain: slug, wallets: addresses })));
    await refuseRunning(isRunning);
    const compared = await Promise.all(chains.map((each) => compareChain(database, each, { clock, log })));
    const found = compared.map(({ difference }) => difference);
    // A gateway may have been started meanwhile.
    if (given.runs) await refuseRunning(isRunning);
    const nonces = Object.fromEntries(compared.flatMap(({ highest }) => highest));
    const marked = given.runs ? await database.markRestored(RESTORED, nonces) : null;
    return { differs: differs(found), chains: found, marked };
  } finally {
    await database.close();
  }
}

interface RelayingChain {
  readonly config: ChainConfig;
  readonly slug: ChainConfig['chain']['slug'];
  /** Those of the settings, and those that the database has sent for. */
  readonly addresses: readonly Address[];
}

async function withWallets(database: StoppedDatabase, opened: WalletsOfChains, config: ChainConfig): Promise<RelayingChain> {
  const { slug } = config.chain;
  const { lanes } = await database.relay.knownLanes(slug);
  return { config, slug, addresses: [...new Set([...(opened.get(slug) ?? []).map(({ address }) => address), ...lanes])] };
}

async function refuseRunning(isRunning: () => Promise<string | null>): Promise<void> {
  const sign = await isRunning();
  if (sign !== null) throw new CommandError(`A gateway runs on this database: ${sign}. Stop every gateway first.`, EXIT.running);
}

async function compareChain(
  database: StoppedDatabase,
  { config: { chain, rpcUrls, nodePatienceMs }, slug, addresses }: RelayingChain,
  { clock, log }: Pick<RestoreSurroundings, 'clock' | 'log'>,
): Promise<{ readonly difference: ChainDifference; readonly highest: readonly (readonly [string, number])[] }> {
  const node = createViemChain({ definition: chain, rpcUrls, nodePatienceMs, clock, log });
  const cursor = await database.index.cursor(slug);
  const { relay, recovery } = database;
  const head = await askNode(slug, () => node.sent.head());
  const sinceCursor = hashesSince(node, cursor, head);
  const options = { definition: chain, relay, recovery, node: node.relay, history: node.sent, cursor, sinceCursor, clock };
  const wallets = await Promise.all(addresses.map((wallet) => askNode(slug, () => compareRestored({ ...options, wallet }))));
  return {
    difference: { chain: slug, index: { database: cursor?.number ?? null, chain: head }, wallets },
    highest: wallets.flatMap(({ wallet, nonces }) => (nonces.pending > 0 ? [[walletKey(slug, wallet), nonces.pending - 1] as const] : [])),
  };
}

async function askNode<Answer>(chain: string, ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    // The store throws none of these.
    if (!(error instanceof BaseError)) throw error;
    throw new CommandError(`No node of ${chain} answers: ${error.shortMessage}`, EXIT.noNode);
  }
}

/** Blocks of one question, and how many are asked. */
const STEP = 2_000n;
const MOST_STEPS = 500;

/** Asked once, whichever wallet needs them. */
function hashesSince(node: Pick<Chain, 'logs'>, cursor: ChainCursor | null, head: bigint): () => Promise<readonly Hex[]> {
  let reading: Promise<readonly Hex[]> | null = null;
  async function read(): Promise<readonly Hex[]> {
    const hashes = new Set<Hex>();
    const lowest = (cursor?.number ?? head) + 1n;
    for (let [to, steps] = [head, 0]; to >= lowest && steps < MOST_STEPS; to -= STEP, steps += 1) {
      const from = to - STEP + 1n > lowest ? to - STEP + 1n : lowest;
      const { logs } = await node.logs(from, to);
      for (const { place } of logs.toReversed()) hashes.add(place.txHash);
    }
    return [...hashes];
  }
  return () => (reading ??= read());
}

interface Given {
  readonly runs: boolean;
  readonly json: boolean;
  readonly hasNoRelayer: boolean;
}

const misuse = (sentence: string): CommandError => new CommandError(`${sentence} See diamond-gateway restore --help.`, EXIT.notUnderstood);

const OPTIONS = {
  check: { type: 'boolean' },
  run: { type: 'boolean' },
  json: { type: 'boolean' },
  'no-relayer': { type: 'boolean' },
} as const;

function readArguments(words: readonly string[]): Given {
  const { check = false, run = false, json = false, 'no-relayer': hasNoRelayer = false } = parse(words);
  if (check === run) throw misuse('Either --check or --run.');
  return { runs: run, json, hasNoRelayer };
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options: OPTIONS }).values;
  } catch (error) {
    throw misuse(error instanceof Error ? (error.message.split('. ', 1)[0] ?? 'Not understood') : 'Not understood');
  }
}

const plainly = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value);
