import {
  decodeEventLog,
  decodeFunctionResult,
  encodeFunctionData,
  pad,
  toEventSelector,
  toHex,
  type Abi,
  type AbiEvent,
  type AbiFunction,
  type Hex,
} from 'viem';
import { diamondAbi } from '../../../../core/adapters/evm/diamond-abi.js';
import { createEngine, type Engine } from '../../../../sandbox/chain/engine.js';
import { DIAMOND_CODE, FACETS, sandboxControlAbi, TOKEN_CODE, tokenAbi } from '../../../../sandbox/contracts/artefact.js';

/** The sandbox contract alone on an engine, driven by impersonated accounts: one transaction, one block, a timestamp of our choice. */

type Address = `0x${string}`;
const numbered = (kind: number, index: number): Address => pad(toHex(kind * 0x1_0000 + index), { size: 20 });

export const DIAMOND = numbered(0xd1, 0);
const OPERATOR = numbered(0x0e, 0);
export const TRADERS = [1, 2, 3, 4].map((index) => numbered(0x7a, index));
/** Collateral 1 has six decimals, collateral 2 eighteen. */
const TOKENS = [
  { address: numbered(0x70, 1), decimals: 6 },
  { address: numbered(0x70, 2), decimals: 18 },
];
const GENESIS = 1_770_000_000;
const RICH = 10n ** 40n;
const MULTICALL_LIMIT = 20;

export interface Event {
  readonly name: string;
  readonly args: Record<string, unknown>;
}

export interface Receipt {
  readonly succeeded: boolean;
  readonly events: readonly Event[];
}

export interface Read {
  readonly name: string;
  readonly args: readonly unknown[];
}

/** One item at a time: searching and hashing the whole ABI for every call and log would take longer than the chain does. */
const isFunction = (item: Abi[number]): item is AbiFunction => item.type === 'function';
const isEvent = (item: Abi[number]): item is AbiEvent => item.type === 'event';
const every: Abi = [...diamondAbi, ...sandboxControlAbi];
const functions = new Map(every.filter(isFunction).map((item) => [item.name, [item]] as const));
const events = new Map(every.filter(isEvent).map((item) => [toEventSelector(item), [item]] as const));

function functionOf(name: string): readonly [AbiFunction] | AbiFunction[] {
  const found = functions.get(name);
  if (!found) throw new Error(`the Diamond has no function ${name}`);
  return found;
}

const encode = (name: string, args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi: functionOf(name), functionName: name, args: [...args] });

const required = async (engine: Engine, method: string, params: readonly unknown[]): Promise<unknown> => {
  const answer = await engine.request(method, params);
  if ('error' in answer) throw new Error(`${method}: ${answer.error.message}`);
  return answer.result;
};

/** The Diamond emits events that its published ABI does not list. */
function decodeEvent({ topics, data }: { topics: [Hex, ...Hex[]]; data: Hex }): Event[] {
  const item = events.get(topics[0]);
  if (!item) return [];
  const { eventName, args } = decodeEventLog({ abi: item, topics, data });
  return [{ name: eventName, args: args }];
}

export interface DifferentialChain {
  /** Timestamp and number of the block the next transaction will be in. */
  next(): { readonly timestamp: bigint; readonly block: bigint };
  latest(): { readonly timestamp: bigint; readonly block: bigint };
  wait(seconds: bigint): void;
  readonly control: (name: string, args: readonly unknown[]) => Promise<Receipt>;
  trade(trader: Address, name: string, args: readonly unknown[]): Promise<Receipt>;
  /** The oracle's answer to a pending order; may revert. */
  fulfil(orderId: unknown, price: bigint): Promise<Receipt>;
  /** Answers of the latest block, in order. */
  read(calls: readonly Read[]): Promise<readonly unknown[]>;
  close(): void;
}

export async function createDifferentialChain(): Promise<DifferentialChain> {
  const accounts = [OPERATOR, ...TRADERS];
  const balances = new Map(accounts.map((account) => [account, 10n ** 30n]));
  const engine = await createEngine({ chainId: 421_614, genesisTime: GENESIS, balances });
  let [timestamp, block, gap] = [BigInt(GENESIS), 0n, 1n];

  async function send(from: Address, to: Address, data: Hex): Promise<Receipt> {
    const hash = await required(engine, 'eth_sendTransaction', [{ from, to, data, gas: toHex(15_000_000) }]);
    [timestamp, block, gap] = [timestamp + gap, block + 1n, 1n];
    await required(engine, 'evm_mine', [toHex(timestamp)]);
    const receipt = (await required(engine, 'eth_getTransactionReceipt', [hash])) as {
      status: Hex;
      logs: { topics: [Hex, ...Hex[]]; data: Hex; address: Hex }[];
    };
    const logs = receipt.logs.filter((log) => log.address.toLowerCase() === DIAMOND);
    return { succeeded: receipt.status === '0x1', events: logs.flatMap(decodeEvent) };
  }

  async function mustSend(to: Address, data: Hex, what: string): Promise<Receipt> {
    const receipt = await send(OPERATOR, to, data);
    if (!receipt.succeeded) throw new Error(`${what} reverted`);
    return receipt;
  }

  const control = (name: string, args: readonly unknown[]): Promise<Receipt> => mustSend(DIAMOND, encode(name, args), name);

  async function place(): Promise<void> {
    for (const account of accounts) await required(engine, 'hardhat_impersonateAccount', [account]);
    await required(engine, 'hardhat_setCode', [DIAMOND, DIAMOND_CODE]);
    const facets = FACETS.map(({ selectors, code }, index) => ({
      facetAddress: numbered(0xfa, index),
      functionSelectors: selectors,
      code,
    }));
    for (const { facetAddress, code } of facets) await required(engine, 'hardhat_setCode', [facetAddress, code]);
    const list = facets.map(({ facetAddress, functionSelectors }) => ({ facetAddress, functionSelectors }));
    await control('sandboxInit', [[OPERATOR], list]);
    for (const { address, decimals } of TOKENS) {
      await required(engine, 'hardhat_setCode', [address, TOKEN_CODE]);
      const init = encodeFunctionData({ abi: tokenAbi, functionName: 'sandboxInit', args: ['Token', 'TKN', decimals, [OPERATOR]] });
      await mustSend(address, init, 'token init');
      for (const holder of [DIAMOND, ...TRADERS]) {
        await mustSend(address, encodeFunctionData({ abi: tokenAbi, functionName: 'sandboxMint', args: [holder, RICH] }), 'mint');
      }
      const approve = encodeFunctionData({ abi: tokenAbi, functionName: 'approve', args: [DIAMOND, 2n ** 256n - 1n] });
      for (const trader of TRADERS) await send(trader, address, approve);
    }
    const settings = TOKENS.map(({ address, decimals }) => ({
      token: address,
      gToken: address,
      isActive: true,
      decimals,
      priceUsd: 10n ** 8n,
    }));
    await control('sandboxAddCollaterals', [settings]);
  }

  async function read(calls: readonly Read[]): Promise<readonly unknown[]> {
    const answers: unknown[] = [];
    for (let from = 0; from < calls.length; from += MULTICALL_LIMIT) {
      const batch = calls.slice(from, from + MULTICALL_LIMIT);
      const data = encode('multicall', [batch.map(({ name, args }) => encode(name, args))]);
      const answer = await required(engine, 'eth_call', [{ from: OPERATOR, to: DIAMOND, data, gas: toHex(50_000_000) }, 'latest']);
      const results = decodeFunctionResult({
        abi: functionOf('multicall'),
        functionName: 'multicall',
        data: answer as Hex,
      }) as readonly Hex[];
      for (const [position, { name }] of batch.entries()) {
        answers.push(decodeFunctionResult({ abi: functionOf(name), functionName: name, data: results[position] ?? '0x' }));
      }
    }
    return answers;
  }

  await place();
  return {
    next: () => ({ timestamp: timestamp + gap, block: block + 1n }),
    latest: () => ({ timestamp, block }),
    close: () => engine.close(),
    wait(seconds) {
      gap = seconds > 0n ? seconds : 1n;
    },
    control,
    trade: (trader, name, args) => send(trader, DIAMOND, encode(name, args)),
    fulfil: (orderId, price) => send(OPERATOR, DIAMOND, encode('sandboxFulfill', [orderId, price])),
    read,
  };
}
