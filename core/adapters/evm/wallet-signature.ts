import {
  encodeDeployData,
  encodeFunctionData,
  erc6492SignatureValidatorAbi,
  erc6492SignatureValidatorByteCode,
  isErc6492Signature,
  parseAbi,
} from 'viem';
import type { Address, Hex } from '../../types.js';
import type { WalletCall } from './wallet-call.js';

const erc1271 = parseAbi(['function isValidSignature(bytes32 digest, bytes signature) view returns (bytes4)']);
/** What a wallet answers that approves: the selector of its own function, in the first four bytes of a word. */
const APPROVED = /^0x1626ba7e0{56}/;
/** `true` out of the validator that ERC-6492 runs as a constructor. */
const VALID = /^0x0*1$/;

/** Passkeys checked in Solidity take about 400,000; a wallet of many owners about 10,000 each. */
const CHECK_GAS = 1_000_000n;
/** A factory deploys the wallet first. */
const DEPLOY_GAS = 3_000_000n;

/**
 * A contract wallet's verdict (ERC-1271). One that is not deployed yet is deployed inside the call when the signature brings its factory
 * along (ERC-6492). Both run code of a stranger's choice, with gas for a signature check and no more.
 * Throws when the node did not answer, so that a fault of ours is never taken for a refusal of theirs.
 */
export async function isValidSignature(ask: WalletCall, wallet: Address, digest: Hex, signature: Hex): Promise<boolean> {
  if (isErc6492Signature(signature)) {
    const data = encodeDeployData({
      abi: erc6492SignatureValidatorAbi,
      args: [wallet, digest, signature],
      bytecode: erc6492SignatureValidatorByteCode,
    });
    return VALID.test((await ask({ data, gas: DEPLOY_GAS })) ?? '');
  }
  const data = encodeFunctionData({ abi: erc1271, functionName: 'isValidSignature', args: [digest, signature] });
  return APPROVED.test((await ask({ to: wallet, data, gas: CHECK_GAS })) ?? '');
}
