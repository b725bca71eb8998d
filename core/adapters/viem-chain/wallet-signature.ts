import {
  BaseError,
  RpcRequestError,
  encodeDeployData,
  encodeFunctionData,
  erc6492SignatureValidatorAbi,
  erc6492SignatureValidatorByteCode,
  isErc6492Signature,
  parseAbi,
  type PublicClient,
} from 'viem';
import type { Address, Hex } from '../../ports.js';

const erc1271 = parseAbi(['function isValidSignature(bytes32 digest, bytes signature) view returns (bytes4)']);
/** What a wallet answers that approves: the selector of its own function, in the first four bytes of a word. */
const APPROVED = /^0x1626ba7e0{56}/;
/** `true` out of the validator that ERC-6492 runs as a constructor. */
const VALID = /^0x0*1$/;

/**
 * A contract wallet's verdict (ERC-1271). One that is not deployed yet is deployed inside the call when the signature brings its factory
 * along (ERC-6492). An address without code and without a factory has no verdict: its key signs for it.
 * Throws when the node did not answer, so that a fault of ours is never taken for a refusal of theirs.
 */
export async function isValidSignature(client: PublicClient, wallet: Address, digest: Hex, signature: Hex): Promise<boolean> {
  if (isErc6492Signature(signature)) return isValidBeforeDeployment(client, wallet, digest, signature);
  const code = await client.getCode({ address: wallet });
  if (code === undefined) return false;
  const data = encodeFunctionData({ abi: erc1271, functionName: 'isValidSignature', args: [digest, signature] });
  return APPROVED.test(await answerOf(client, { to: wallet, data }));
}

async function isValidBeforeDeployment(client: PublicClient, wallet: Address, digest: Hex, signature: Hex): Promise<boolean> {
  const data = encodeDeployData({
    abi: erc6492SignatureValidatorAbi,
    args: [wallet, digest, signature],
    bytecode: erc6492SignatureValidatorByteCode,
  });
  return VALID.test(await answerOf(client, { data }));
}

/** What the call returned; nothing when the contract failed. */
async function answerOf(client: PublicClient, call: { to?: Address; data: Hex }): Promise<Hex> {
  try {
    return (await client.call(call)).data ?? '0x';
  } catch (error) {
    if (isContractFailure(error)) return '0x';
    throw error;
  }
}

const REVERTED = 3;
const FAILED_WORDS = /revert|invalid opcode|out of gas|stack (?:under|over)flow|invalid jump|VM execution error|write protection/i;

/** Nodes have several ways to say that a contract failed; everything else is the node's own trouble. */
function isContractFailure(error: unknown): boolean {
  const answer = error instanceof BaseError ? error.walk((cause) => cause instanceof RpcRequestError) : null;
  return answer instanceof RpcRequestError && (answer.code === REVERTED || FAILED_WORDS.test(answer.details));
}
