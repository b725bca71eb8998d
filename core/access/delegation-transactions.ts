import { encodeFunctionData, parseAbi } from 'viem/utils';
import type { ChainDefinition } from '../chains/chains.js';
import { WRITE_FUNCTIONS } from '../chains/diamond-functions.js';
import type { TransactionRequest } from '../errors.js';
import type { Address } from '../types.js';

const abi = parseAbi([WRITE_FUNCTIONS.setTradingDelegate.signature, WRITE_FUNCTIONS.removeTradingDelegate.signature]);

/** Transactions that only the trader's own wallet can send. */
export const delegationTx = ({ diamond, chainId }: ChainDefinition, delegate: Address): TransactionRequest => ({
  to: diamond,
  data: encodeFunctionData({ abi, functionName: 'setTradingDelegate', args: [delegate] }),
  chainId,
});

export const revocationTx = ({ diamond, chainId }: ChainDefinition): TransactionRequest => ({
  to: diamond,
  data: encodeFunctionData({ abi, functionName: 'removeTradingDelegate' }),
  chainId,
});
