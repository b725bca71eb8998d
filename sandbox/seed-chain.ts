import type { Hex } from '../core/types.js';
import { DEMO_ROLES, type SandboxAccounts } from './accounts.js';
import { ADMIN_METHODS, RpcFailure, type AdminMethod, type ChainNode } from './chain/chain-node.js';
import { collateralsOf } from './deploy-collaterals.js';
import { deployDiamond, type Request } from './deploy.js';
import { createFaucet, type Faucet, type SandboxCollateral } from './faucet.js';
import type { SandboxMarket } from './markets.js';
import type { Sender } from './sender.js';
import type { ChainDefinition, ChainSlug } from '../core/chains/chains.js';
import type { Logger } from '../core/ports/log.js';
import type { Clock } from '../core/ports/clock.js';
import type { Progress } from './banner.js';

export interface SeededChain {
  readonly collaterals: readonly SandboxCollateral[];
  readonly faucet: Faucet;
}

export interface SeedOptions extends Pick<VenueChainOptions, 'definition' | 'accounts' | 'clock' | 'progress' | 'markets'> {
  readonly node: ChainNode;
  readonly operator: Sender;
}

/** Holds one wei once a new chain is complete; a chain killed before that is set up again. */
const FURNISHED_MARK = '0x00000000000000000000000000000000f0124154';
const MINED_PATIENCE_MS = 15_000;
const MOST_BLOCKS = 100;
const DEMO_FUNDS = { usdc: '100000', dai: '100000', eth: '100', approve: true } as const;

export const isSeeded = async (node: ChainNode): Promise<boolean> =>
  BigInt((await node.request('eth_getBalance', [FURNISHED_MARK, 'latest'])) as Hex) > 0n;

/** Deploys the Diamond, tokens and demo accounts on a new chain; an existing one has them already. Mining continues by itself afterwards. */
export async function seedChain(options: SeedOptions): Promise<SeededChain> {
  const { node, definition, accounts, progress, markets } = options;
  const collaterals = collateralsOf(definition.slug).flatMap(({ symbol, address, decimals, isActive }, position) =>
    isActive ? [{ symbol, address, decimals, index: position + 1 }] : [],
  );
  const isNew = !(await isSeeded(node));
  if (isNew) {
    progress.step(`putting the Diamond on ${definition.name}`);
    await deployDiamond({ request: deployment(node), chain: definition, operator: accounts.operator.signer, markets });
  }
  const faucetOf = (whenMined: (hash: Hex) => Promise<void>): Faucet =>
    createFaucet({
      ...options,
      ...definition,
      collaterals,
      rpc: node,
      admin: (method, params) => node.admin(method, params),
      mined: whenMined,
    });
  if (isNew) {
    progress.step(`funding the demo accounts on ${definition.name}`);
    await equipDemoAccounts(faucetOf(mineAtOnce(node)), accounts);
    await node.admin('hardhat_setBalance', [FURNISHED_MARK, '0x1']);
  }
  await node.resumeMining();
  return { collaterals, faucet: faucetOf((hash) => mined(options, hash)) };
}

/** Until a new chain is complete nothing else mines, so the start need not wait for the pace of blocks. */
function mineAtOnce(node: ChainNode): (hash: Hex) => Promise<void> {
  let last: Promise<unknown> = Promise.resolve();
  const mineWith = async (hash: Hex): Promise<void> => {
    // A block can lack the transaction while one before it, of the same sender, is on its way.
    for (let blocks = 0; blocks < MOST_BLOCKS; blocks += 1) {
      if (await isMined(node, hash)) return;
      await node.mine(1);
    }
    throw new RangeError(`transaction ${hash} was not mined`);
  };
  return (hash) => {
    const turn = last.then(() => mineWith(hash));
    last = turn.catch(() => undefined);
    return turn;
  };
}

async function equipDemoAccounts(faucet: Faucet, accounts: SandboxAccounts): Promise<void> {
  const delegates = { trader: accounts.agent.address, 'hl-trader': accounts.relayer.address, agent: null, 'hl-agent': null } as const;
  const isTrader = (role: (typeof DEMO_ROLES)[number]): boolean => delegates[role] !== null;
  const gasOnly = { eth: DEMO_FUNDS.eth, approve: false, delegate: null } as const;
  await Promise.all([
    ...DEMO_ROLES.map((role) =>
      faucet.equip(accounts[role].privateKey, isTrader(role) ? { ...DEMO_FUNDS, delegate: delegates[role] } : gasOnly),
    ),
    faucet.equip(accounts.relayer.privateKey, gasOnly),
  ]);
}

const isAdmin = (method: string): method is AdminMethod => ADMIN_METHODS.some((known) => known === method);

/** The set-up expects a bare engine; here its admin calls go to the node, which stores them. */
function deployment(node: ChainNode): Request {
  return async (method, params = []) => {
    try {
      if (method === 'evm_mine') return { result: await node.mine(1) };
      return { result: await (isAdmin(method) ? node.admin(method, params) : node.request(method, params)) };
    } catch (error) {
      if (error instanceof RpcFailure) return { error: { code: error.code, message: error.message, data: error.data } };
      throw error;
    }
  };
}

async function isMined(node: ChainNode, hash: Hex): Promise<boolean> {
  const receipt = (await node.request('eth_getTransactionReceipt', [hash])) as { status: Hex } | null;
  if (receipt !== null && receipt.status !== '0x1') throw new RangeError(`transaction ${hash} failed on chain`);
  return receipt !== null;
}

/** Resolves when the transaction is mined; throws if the chain does not advance in time. */
async function mined({ node, clock }: SeedOptions, hash: Hex): Promise<void> {
  const deadline = clock.now() + MINED_PATIENCE_MS;
  while (clock.now() < deadline) {
    if (await isMined(node, hash)) return;
    const waiting = new AbortController();
    await Promise.race([node.nextBlock(), clock.sleep(deadline - clock.now(), waiting.signal)]);
    waiting.abort();
  }
  throw new RangeError('the transaction was not mined in time; is mining paused?');
}

/** The options of one chain of the venue. */
export interface VenueChainOptions {
  readonly definition: ChainDefinition & { readonly slug: ChainSlug };
  readonly accounts: SandboxAccounts;
  readonly clock: Clock;
  readonly log: Logger;
  readonly blockMs: number;
  readonly idleBlockMs: number;
  readonly oracleMs: number;
  /** null: the chain ends with the process. */
  readonly dataDir: string | null;
  /** An external node instead of the built-in engine. */
  readonly externalUrl: string | null;
  readonly priceOf: (pairIndex: number) => bigint;
  readonly isOpen: (pairIndex: number) => boolean;
  readonly progress: Progress;
  readonly markets: readonly (SandboxMarket | null)[];
}
