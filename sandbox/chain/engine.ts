import { createRequire } from 'node:module';
import type * as Edr from '@nomicfoundation/edr';

/** The only file that touches the EVM engine, whose API is internal to its makers and therefore pinned exactly. */

export interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}

export type RpcAnswer = { result: unknown } | { error: RpcError };

export interface EngineOptions {
  chainId: number;
  /** Epoch seconds of the genesis block; fixed, so that a replay reproduces every hash. */
  genesisTime: number;
  /** Accounts that exist from genesis, in wei. */
  balances: ReadonlyMap<`0x${string}`, bigint>;
  onSubscription?: (event: { filterId: bigint; result: unknown }) => void;
}

export interface Engine {
  request(method: string, params?: readonly unknown[]): Promise<RpcAnswer>;
}

/** The package is CommonJS with a native binding and may be absent in a production install: loaded on first use only. */
const load = (): typeof Edr => createRequire(import.meta.url)('@nomicfoundation/edr') as typeof Edr;

const bytes = (hex: string): Buffer => Buffer.from(hex.slice(2), 'hex');

/** One context per process: the engine's thread pool and tracing are global to it. */
let shared: Promise<Edr.EdrContext> | undefined;

function context(edr: typeof Edr): Promise<Edr.EdrContext> {
  shared ??= (async () => {
    const created = new edr.EdrContext();
    await created.registerProviderFactory(edr.L1_CHAIN_TYPE, edr.l1ProviderFactory());
    return created;
  })();
  return shared;
}

export async function createEngine(options: EngineOptions): Promise<Engine> {
  const edr = load();
  const provider = await (
    await context(edr)
  ).createProvider(
    edr.L1_CHAIN_TYPE,
    {
      allowBlocksWithSameTimestamp: true,
      allowUnlimitedContractSize: false,
      bailOnCallFailure: true,
      bailOnTransactionFailure: false,
      chainId: BigInt(options.chainId),
      networkId: BigInt(options.chainId),
      coinbase: bytes('0xc014ba5ec014ba5ec014ba5ec014ba5ec014ba5e'),
      defaultTransactionGasLimit: 16_777_216n,
      genesisState: [
        ...edr.l1GenesisState(edr.l1HardforkFromString(edr.PRAGUE)),
        ...[...options.balances].map(([address, balance]) => ({ address: bytes(address), balance })),
      ],
      hardfork: edr.PRAGUE,
      initialBaseFeePerGas: 100_000_000n,
      minGasPrice: 0n,
      mining: { autoMine: false, blockGasLimit: 60_000_000n, memPool: { order: edr.MineOrdering.Priority } },
      network: { genesisBlockGasLimit: 60_000_000n, genesisBlockTime: BigInt(options.genesisTime) },
      observability: {},
      ownedAccounts: [],
      precompileOverrides: [],
    },
    { enable: false, decodeConsoleLogInputsCallback: () => [], printLineCallback: () => undefined },
    { subscriptionCallback: (event) => options.onSubscription?.(event) },
    new edr.ContractDecoder(),
  );

  return {
    async request(method, params = []) {
      const response = await provider.handleRequest(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
      const answer = (typeof response.data === 'string' ? JSON.parse(response.data) : response.data) as {
        result?: unknown;
        error?: RpcError;
      };
      return answer.error === undefined ? { result: answer.result ?? null } : { error: gethShape(answer.error) };
    },
  };
}

/** Clients decode a revert from geth's shape only: code 3 and the revert bytes directly in `data`. */
function gethShape(error: RpcError): RpcError {
  const data = error.data as { data?: unknown } | undefined;
  if (typeof data?.data === 'string') return { code: 3, message: 'execution reverted', data: data.data };
  return { code: error.code, message: error.message };
}
