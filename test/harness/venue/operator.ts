import type { Hex, PublicClient } from 'viem';
import { sandboxControlAbi } from '../../../sandbox/contracts/artefact.js';
import type { ChainControls } from '../../../sandbox/controls.js';
import { controlCall } from '../diamond/diamond-calls.js';
import { receiptOf } from '../traders/chain-trader.js';
import { nodeClient } from '../traders/node-client.js';

/** Calls of the venue's own account, which governs the Diamond of a sandbox. */
export interface Operator {
  readonly client: PublicClient;
  /** Calls the Diamond and waits for the block; throws if the call reverts. */
  send(data: Hex): Promise<void>;
  /** The same for a control of the sandbox's contract. */
  readonly control: <Name extends Parameters<typeof controlCall>[0]>(
    name: Name,
    args: Parameters<typeof controlCall<Name>>[1],
  ) => Promise<void>;
  /** What the contract values a position in this collateral at while the oracle says `price`; 1e10. */
  marketPrice(collateralIndex: number, pairIndex: number, price: bigint): Promise<bigint>;
  /** Index of a collateral. */
  collateral(symbol: string): number;
}

export function operatorOf(chain: ChainControls): Operator {
  const { operator, collaterals, definition } = chain;
  const { diamond } = definition;
  const client = nodeClient(chain);

  // With a margin: estimated on the block that wrote a slot last, writing it again seems to cost next to nothing.
  async function send(data: Hex): Promise<void> {
    const gas = ((await client.estimateGas({ account: operator.address, to: diamond, data })) * 12n) / 10n;
    const hash = await operator.send({ to: diamond, data, gas });
    if ((await receiptOf(chain, hash)).status !== '0x1') throw new Error(`${hash} reverted`);
  }

  return {
    client,
    send,
    control: (name, args) => send(controlCall(name, args)),
    marketPrice: (collateralIndex, pairIndex, price) =>
      client.readContract({
        address: diamond,
        abi: sandboxControlAbi,
        functionName: 'sandboxMarketPrice',
        args: [collateralIndex, pairIndex, price],
      }),
    collateral: (symbol) => collaterals.find((row) => row.symbol === symbol)?.index ?? 0,
  };
}
