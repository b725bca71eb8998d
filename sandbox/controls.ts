import type { ChainDefinition, ChainSlug } from '../core/chains/chains.js';
import type { Address } from '../core/types.js';
import type { SandboxAccounts } from './accounts.js';
import type { Faucet, SandboxCollateral } from './faucet.js';
import type { OraclePolicy } from './oracle/oracle.js';
import type { Sender } from './sender.js';

/** What a user or a test may do to the running venue; the routes use only this. */

export type RpcFault =
  | { readonly mode: 'ok' | 'down' }
  | { readonly mode: 'slow'; readonly latencyMs: number }
  | { readonly mode: 'flaky'; readonly errorShare: number };

export interface ChainControls {
  readonly definition: ChainDefinition & { readonly slug: ChainSlug };
  /** The node itself, not the proxy: faults affect only the gateway's connection. */
  readonly rpcUrl: string;
  readonly collaterals: readonly SandboxCollateral[];
  /** One JSON-RPC request as a client of the node sends it; throws RpcFailure. */
  request(method: string, params: readonly unknown[]): Promise<unknown>;
  readonly faucet: Faucet;
  /** The venue's account, which may call every `sandbox…` function. Its oracle and keeper send through it too, so nonces are counted here alone. */
  readonly operator: Pick<Sender, 'address' | 'send'>;
  mine(blocks: number): Promise<unknown>;
  reorg(depth: number, drop: boolean): Promise<unknown>;
  pauseMining(paused: boolean): Promise<void>;
  setRpcFault(fault: RpcFault): void;
  setBaseFee(gwei: number): Promise<void>;
  warp(seconds: number): Promise<void>;
  setOraclePolicy(pairIndex: number | null, policy: Partial<OraclePolicy>): void;
  /** Every market as at the start. */
  resetOracle(): void;
}

export interface PriceControls {
  /** Decimal string in the quote currency. */
  jump(pairIndex: number, price: string): void;
  glide(pairIndex: number, price: string, overMs: number): void;
  walk(pairIndex: number): void;
  /** null returns the market to the calendar. */
  setOpen(pairIndex: number, isOpen: boolean | null): void;
  pauseFeed(paused: boolean): void;
}

/** The hosts of the protocol that a gateway reads, as the sandbox serves them. */
export interface BackendAddresses {
  /** Parameters and events of the chain: `BACKEND_URL_<CHAIN>` of a production gateway. */
  readonly backendUrl: string;
  /** Prices and charts: `PRICING_URL`. */
  readonly pricingUrl: string;
  /** History of all chains: `GLOBAL_URL`. */
  readonly globalUrl: string;
}

export interface SandboxControls {
  readonly seed: string;
  readonly backendOf: (slug: ChainSlug) => BackendAddresses;
  readonly accounts: SandboxAccounts;
  readonly chains: readonly ChainControls[];
  readonly prices: PriceControls;
  readonly relayer: Address;
}
