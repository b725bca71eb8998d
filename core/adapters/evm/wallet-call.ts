import {
  encodeDeployData,
  encodeFunctionData,
  erc6492SignatureValidatorAbi,
  erc6492SignatureValidatorByteCode,
  isErc6492Signature,
  parseAbi,
} from 'viem';
import type { Clock } from '../../ports/clock.js';
import type { Address, Hex } from '../../types.js';
import { troubleOf, type Endpoint, type Endpoints } from './endpoints.js';
import { exchange, ExchangeFault, type RpcAnswer, type RpcCall, type RpcFailure } from './rpc-client.js';
import { NoNodeError } from '../../ports/chain.js';

/** Null: the contract's code reverted, ran out of gas, or was aborted by the node. */
type WalletCall = (call: { readonly to?: string; readonly data: Hex; readonly gas: bigint }) => Promise<Hex | null>;

/** Not the zero address, which switches some wallets into an estimation mode; this address has no known key. */
const SENDER = '0x000000000000000000000000000000000000dEaD';
const TIMEOUT_MS = 5_000;
/** Hostile code must not reach every node of the operator. */
const MAX_NODES = 2;
const CHAIN_ID: RpcCall = { method: 'eth_chainId' };
/** Metric label of these calls, separate from the gateway's own. */
const COUNTED = { method: 'eth_call (wallet)' };

/** Messages of nodes for code that failed or took too long. */
const OF_THE_CONTRACT =
  /revert|invalid opcode|out of gas|gas required|intrinsic gas|stack (?:under|over)flow|invalid jump|vm execution error|write protection|execution (?:aborted|timeout|timed out)|(?:code|initcode) size/i;
const REVERTED = 3;

/**
 * Calls that run untrusted code. They are sent alone, so that no other call waits for them, and never affect an endpoint's health: a
 * contract that loops must not put a healthy node to rest.
 */
export function createWalletCall(endpoints: Endpoints, chainId: number, clock: Clock): WalletCall {
  async function askOne(endpoint: Endpoint, call: RpcCall): Promise<RpcAnswer> {
    const since = clock.monotonic();
    const calls = endpoint.isProven ? [call] : [call, CHAIN_ID];
    const [answer, served] = await exchange(endpoint.place, calls, { timeoutMs: TIMEOUT_MS, clock });
    if (answer === undefined) throw new ExchangeFault('its answer is not complete');
    if (served !== undefined && !('result' in served && Number(served.result) === chainId))
      throw new ExchangeFault('it does not serve this chain');
    endpoint.calls.count([COUNTED], [answer], clock.monotonic() - since);
    return answer;
  }

  return async ({ to, data, gas }) => {
    const call = { method: 'eth_call', params: [{ from: SENDER, to, data, gas: `0x${gas.toString(16)}` }, 'latest'] };
    const faults: string[] = [];
    const asked = endpoints.order(false).slice(0, MAX_NODES);
    for (const endpoint of asked) {
      const answer = await askOne(endpoint, call).catch((error: unknown) => {
        if (!(error instanceof ExchangeFault)) throw error;
        return error;
      });
      if (answer instanceof ExchangeFault) {
        faults.push(`${endpoint.host}: ${answer.message}`);
        // A silent node was probably busy with the code; the next one would be too.
        if (answer.isSilence) break;
      } else if ('error' in answer) {
        if (isOfTheContract(answer.error)) return null;
        faults.push(`${endpoint.host}: ${answer.error.message.slice(0, 200)}`);
      } else return typeof answer.result === 'string' && answer.result.startsWith('0x') ? (answer.result as Hex) : null;
    }
    throw new NoNodeError(
      faults,
      asked.map(({ host }) => host),
    );
  };
}

const isOfTheContract = (error: RpcFailure): boolean =>
  error.code === REVERTED || (OF_THE_CONTRACT.test(error.message) && troubleOf('eth_call', error) !== 'elsewhere');

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
