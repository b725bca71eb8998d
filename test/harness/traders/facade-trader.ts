import { generatePrivateKey } from 'viem/accounts';
import { Wallet } from 'ethers';
import { newTrader, type ChainTrader } from './chain-trader.js';
import { approveAgent, postExchange } from '../hyperliquid/exchange.js';
import { firstChain } from '../venue/first-chain.js';
import type { TestVenue } from '../venue/own-venue.js';

/** A trader who trades through the facade: delegated to the relayer, with an agent of its own approved. */
export interface FacadeTrader {
  readonly trader: ChainTrader;
  readonly address: `0x${string}`;
  readonly agentKey: `0x${string}`;
}

export const FACADE_CHAIN = 'arbitrum-sepolia';

export async function newFacadeTrader(sandbox: TestVenue, usdc = '100000'): Promise<FacadeTrader> {
  const trader = await newTrader(firstChain(sandbox), { delegate: sandbox.controls.relayer, usdc });
  const agent = new Wallet(generatePrivateKey());
  const approval = await approveAgent(new Wallet(trader.privateKey), agent.address, null, { network: 'Testnet' });
  const { body } = await postExchange(sandbox.url, FACADE_CHAIN, approval);
  if ((body as { status?: string }).status !== 'ok') throw new Error(`the agent was not approved: ${JSON.stringify(body)}`);
  return { trader, address: trader.account.address, agentKey: agent.privateKey as `0x${string}` };
}
