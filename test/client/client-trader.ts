import WebSocket from 'ws';
import { createClient, type Client, type ClientOptions } from '../../client/src/create-client.js';
import { agentFromKey, type Signer } from '../../client/src/agent.js';
import type { Hex } from '../../client/src/api.js';
import type { ChainControls } from '../../sandbox/controls.js';
import { newAgentTrader, type AgentOptions } from '../harness/traders/agent-trader.js';
import type { TestVenue } from '../harness/venue/own-venue.js';

/** More than any order of these tests takes. */
const BOUND = { maxCollateral: '1000' };

/** A client with a funded trader and an agent of its own, which counts what it is asked to sign. */
export interface ClientTrader {
  readonly client: Client;
  readonly trader: Hex;
  readonly traderKey: Hex;
  /** Transactions that were signed. */
  readonly signed: () => number;
  /** The same agent elsewhere. */
  readonly at: (options: Partial<ClientOptions>) => Client;
}

export async function newClientTrader(sandbox: TestVenue, chain: ChainControls, options: AgentOptions = {}): Promise<ClientTrader> {
  const { wallet, trader } = await newAgentTrader(sandbox, chain, options);
  const key = agentFromKey(wallet.privateKey as Hex);
  let signed = 0;
  const agent: Signer = {
    ...key,
    signTransaction(transaction) {
      signed += 1;
      return key.signTransaction(transaction);
    },
  };
  const at = (own: Partial<ClientOptions>): Client =>
    createClient({ url: sandbox.url, chain: 'arbitrum-sepolia', agent, rpc: chain.rpcUrl, limits: BOUND, WebSocket, ...own });
  return { client: at({}), trader: trader.account.address, traderKey: trader.privateKey, signed: () => signed, at };
}
