import { sandboxControlAbi } from '../../../sandbox/contracts/artefact.js';
import { controlCall } from '../diamond/diamond-calls.js';
import { chainTrader } from '../traders/chain-trader.js';
import { firstChain } from './first-chain.js';
import type { TestVenue } from './own-venue.js';

/** The hand of governance on the first chain's Diamond. */
export interface Operator {
  /** Calls a control of the sandbox's contract and waits for its block. */
  readonly control: <Name extends Parameters<typeof controlCall>[0]>(
    name: Name,
    args: Parameters<typeof controlCall<Name>>[1],
  ) => Promise<void>;
  /** What the contract values a position in this collateral at while the oracle says `price`; 1e10. */
  marketPrice(collateralIndex: number, pairIndex: number, price: bigint): Promise<bigint>;
  /** Index of a collateral. */
  collateral(symbol: string): number;
}

export function operatorOf(sandbox: TestVenue): Operator {
  const chain = firstChain(sandbox);
  const { diamond } = chain.definition;
  const sender = chainTrader(chain, sandbox.controls.accounts.operator.privateKey);
  return {
    async control(name, args) {
      await sender.send(diamond, controlCall(name, args));
    },
    marketPrice: (collateralIndex, pairIndex, price) =>
      sender.client.readContract({
        address: diamond,
        abi: sandboxControlAbi,
        functionName: 'sandboxMarketPrice',
        args: [collateralIndex, pairIndex, price],
      }),
    collateral: (symbol) => chain.collaterals.find((row) => row.symbol === symbol)?.index ?? 0,
  };
}
