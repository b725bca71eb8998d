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
/** The ERC-1271 magic value: the function's selector in the first four bytes of a word. */
const APPROVED = /^0x1626ba7e0{56}/;
/** `true` from the ERC-6492 validator, which runs as a constructor. */
const VALID = /^0x0*1$/;

/** Passkeys checked in Solidity take about 400,000; a wallet of many owners about 10,000 each. */
const CHECK_GAS = 1_000_000n;
/** A factory deploys the wallet first. */
const DEPLOY_GAS = 3_000_000n;

/**
 * Validates a contract wallet's signature (ERC-1271). A wallet that is not deployed yet is deployed inside the call if the signature has
 * its factory (ERC-6492). Both run untrusted code, with gas for a signature check only. Throws when the node does not answer, so that
 * a node failure is never taken for an invalid signature.
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
