import { Wallet } from 'ethers';
import { encodeFunctionData } from 'viem';
import type { Address, Hex } from '../../core/types.js';
import { sandboxControlAbi } from '../../sandbox/contracts/artefact.js';
import { createSender } from '../../sandbox/sender.js';
import { chainTrader } from '../harness/traders/chain-trader.js';
import { price } from '../harness/diamond/diamond-calls.js';
import type { SandboxVenue } from '../../sandbox/venue.js';
import { keyOf, START_PRICE } from './clients/surroundings.js';
import type { SimulationServer } from './database-server.js';
import { isChainKept, keepChain } from './kept-chain.js';
import { BOTS } from './plan.js';
import { openWorld, type World } from './world.js';

export interface BotKeys {
  readonly trader: Hex;
  readonly agent: Hex;
}

const keysOf = (api: keyof typeof BOTS): readonly BotKeys[] =>
  Array.from({ length: BOTS[api] }, (_, at) => ({ trader: keyOf(`${api} trader ${at}`), agent: keyOf(`${api} agent ${at}`) }));

/** The same in every run. */
export const BOT_KEYS = { facade: keysOf('facade'), native: keysOf('native') } as const;

/** The relayer's second wallet, for plans with two. */
export const SECOND_WALLET = keyOf('second wallet of the relayer');

/** A request that the oracle does not answer for so many blocks can be taken back. */
export const ORACLE_TIMEOUT_BLOCKS = 12;
const TRIGGER_TIMEOUT_BLOCKS = 40;

const FUNDS = { usdc: '100000', eth: '100' } as const;

/** Far below the price, so that it rests. */
const OLD_LIMIT = 40_000;

/** Once for the process: contracts are deployed and the traders of all bots equipped. Every run begins with this chain. */
export async function prepareChain(server: SimulationServer): Promise<void> {
  if (isChainKept()) return;
  const world = await openWorld({ server, seed: 0, replicas: 0, latency: () => () => 0, variables: {}, hasHeadSubscription: false });
  try {
    await world.scheduler.drive(equip(world));
    await keepChain();
  } finally {
    await world.close();
  }
}

async function equip({ venue: { sandbox } }: World): Promise<void> {
  const [first] = sandbox.chains;
  if (first === undefined) throw new Error('the sandbox has no chain');
  const { controls: chain, node } = first;
  const { relayer, operator } = sandbox.controls.accounts;
  const { diamond, chainId } = chain.definition;
  const data = encodeFunctionData({
    abi: sandboxControlAbi,
    functionName: 'sandboxSetTimeouts',
    args: [ORACLE_TIMEOUT_BLOCKS, TRIGGER_TIMEOUT_BLOCKS],
  });
  await createSender(node, chainId, operator.signer, 'rich').send({ to: diamond, data });
  await node.nextBlock();
  await Promise.all([
    chain.faucet.equip(SECOND_WALLET, { eth: FUNDS.eth, approve: false, delegate: null }),
    ...BOT_KEYS.facade.map(({ trader }) => chain.faucet.equip(trader, { ...FUNDS, approve: true, delegate: relayer.address })),
    ...BOT_KEYS.native.map(async ({ trader, agent }) => {
      await chain.faucet.equip(agent, { eth: FUNDS.eth, approve: false, delegate: null });
      await chain.faucet.equip(trader, { ...FUNDS, approve: true, delegate: new Wallet(agent).address as Address });
    }),
  ]);
  await openBefore(sandbox, [...BOT_KEYS.facade.slice(-1), ...BOT_KEYS.native]);
  await chain.pauseMining(true);
}

/** Traders that hold a position and a resting order before any gateway runs. */
async function openBefore({ controls }: SandboxVenue, bots: readonly BotKeys[]): Promise<void> {
  const [chain] = controls.chains;
  if (chain === undefined) throw new Error('the sandbox has no chain');
  controls.prices.jump(0, String(START_PRICE));
  for (const { trader: key } of bots) {
    const trader = chainTrader(chain, key);
    await trader.open({ openPrice: price(START_PRICE) }, 50_000);
    await trader.open({ tradeType: 1, openPrice: price(OLD_LIMIT) });
  }
  while ((await Promise.all(bots.map(({ trader }) => chainTrader(chain, trader).trades()))).some((trades) => trades.length < 2))
    await chain.mine(1);
}
