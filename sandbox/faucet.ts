import { encodeFunctionData, parseAbi, parseEther, parseUnits } from 'viem';
import { generatePrivateKey } from 'viem/accounts';
import { diamondAbi } from '../core/adapters/evm/diamond-abi.js';
import type { Address, Hex } from '../core/types.js';
import type { AdminMethod } from './chain/chain-node.js';
import { tokenAbi } from './contracts/artefact.js';
import { createSender, type Rpc, type Sender } from './sender.js';
import { localSigner } from './accounts.js';

export interface SandboxCollateral {
  readonly symbol: string;
  readonly address: Address;
  readonly decimals: number;
  readonly index: number;
}

export interface Amounts {
  readonly usdc?: string | undefined;
  readonly dai?: string | undefined;
  readonly eth?: string | undefined;
}

export interface Faucet {
  /** Sends the amounts and resolves when they are mined. */
  fund(address: Address, amounts: Amounts): Promise<Hex[]>;
  /** Funds a key with gas and collateral, approves the collateral for the Diamond and sets its delegate. */
  equip(privateKey: Hex, equipment: Amounts & { readonly approve: boolean; readonly delegate: Address | null }): Promise<void>;
  /** `equip` for a fresh key. */
  createTrader(equipment: Parameters<Faucet['equip']>[1]): Promise<{ address: Address; privateKey: Hex }>;
}

export interface FaucetOptions {
  readonly chainId: number;
  readonly diamond: Address;
  readonly collaterals: readonly SandboxCollateral[];
  readonly rpc: Rpc;
  readonly admin: (method: AdminMethod, params: readonly unknown[]) => Promise<unknown>;
  readonly operator: Sender;
  readonly mined: (hash: Hex) => Promise<void>;
}

const UNLIMITED = 2n ** 256n - 1n;
const approveAbi = parseAbi(['function approve(address spender, uint256 amount) returns (bool)']);

export function createFaucet(options: FaucetOptions): Faucet {
  const { operator, collaterals, diamond } = options;

  function mint(symbol: string, to: Address, amount: string | undefined): Promise<Hex>[] {
    if (amount === undefined) return [];
    const token = collaterals.find((collateral) => collateral.symbol === symbol);
    if (!token) throw new RangeError(`there is no ${symbol} on this chain`);
    if ((amount.split('.')[1] ?? '').length > token.decimals) throw new RangeError(`${symbol} has ${token.decimals} decimals`);
    const data = encodeFunctionData({ abi: tokenAbi, functionName: 'sandboxMint', args: [to, parseUnits(amount, token.decimals)] });
    return [operator.send({ to: token.address, data })];
  }

  /** Set rather than sent: a sender without a balance could not queue its approval in the same block. */
  async function addGas(address: Address, eth: string): Promise<void> {
    const balance = BigInt((await options.rpc.request('eth_getBalance', [address, 'latest'])) as Hex);
    await options.admin('hardhat_setBalance', [address, `0x${(balance + parseEther(eth)).toString(16)}`]);
  }

  async function equip(privateKey: Hex, { usdc, dai, eth, approve, delegate }: Parameters<Faucet['equip']>[1]): Promise<void> {
    const signer = localSigner(privateKey);
    if (eth !== undefined) await addGas(signer.address, eth);
    const own = createSender(options.rpc, options.chainId, signer, 'modest');
    const hashes = [...mint('USDC', signer.address, usdc), ...mint('DAI', signer.address, dai)];
    if (approve)
      for (const { address } of collaterals)
        hashes.push(
          own.send({ to: address, data: encodeFunctionData({ abi: approveAbi, functionName: 'approve', args: [diamond, UNLIMITED] }) }),
        );
    if (delegate !== null)
      hashes.push(
        own.send({ to: diamond, data: encodeFunctionData({ abi: diamondAbi, functionName: 'setTradingDelegate', args: [delegate] }) }),
      );
    await Promise.all((await Promise.all(hashes)).map(options.mined));
  }

  return {
    equip,
    async fund(address, { usdc, dai, eth }) {
      const sends = [...mint('USDC', address, usdc), ...mint('DAI', address, dai)];
      if (eth !== undefined) sends.push(operator.send({ to: address, value: parseEther(eth) }));
      const hashes = await Promise.all(sends);
      await Promise.all(hashes.map(options.mined));
      return hashes;
    },
    async createTrader(equipment) {
      const privateKey = generatePrivateKey();
      await equip(privateKey, equipment);
      return { address: localSigner(privateKey).address, privateKey };
    },
  };
}
