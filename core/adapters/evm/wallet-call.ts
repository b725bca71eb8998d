import type { Hex } from '../../types.js';
import type { Endpoint, Endpoints } from './endpoints.js';
import { exchange, ExchangeFault, type RpcAnswer, type RpcCall, type RpcFailure } from './rpc-exchange.js';
import { NoNodeError } from '../../ports/no-node-error.js';
import { troubleOf } from './node-trouble.js';

/** `result: null`: the contract's own code failed, ran out of its gas, or was cut off by the node. */
export type WalletCall = (call: { readonly to?: string; readonly data: Hex; readonly gas: bigint }) => Promise<Hex | null>;

/** The code under test may look at its caller: the zero address switches some wallets into a mode for estimates, so the sender is another one without a key. */
const SENDER = '0x000000000000000000000000000000000000dEaD';
const TIMEOUT_MS = 5_000;
/** An attacker's code must not visit every node of the operator. */
const MOST_NODES = 2;
const CHAIN_ID: RpcCall = { method: 'eth_chainId' };
/** The name under which the metrics count these calls, apart from the gateway's own. */
const COUNTED = { method: 'eth_call (wallet)' };

/** How nodes report that the called code itself failed or took too long. */
const OF_THE_CONTRACT =
  /revert|invalid opcode|out of gas|gas required|intrinsic gas|stack (?:under|over)flow|invalid jump|vm execution error|write protection|execution (?:aborted|timeout|timed out)|(?:code|initcode) size/i;
const REVERTED = 3;

/**
 * Calls that run code of a stranger's choice. They travel alone, so that no other question waits for them, and nothing that comes of them
 * is written to an endpoint's health: a contract that loops must not put a healthy node to rest.
 */
export function createWalletCall(endpoints: Endpoints, chainId: number): WalletCall {
  async function askOne(endpoint: Endpoint, call: RpcCall): Promise<RpcAnswer> {
    const since = performance.now();
    const calls = endpoint.isProven ? [call] : [call, CHAIN_ID];
    const [answer, served] = await exchange(endpoint.place, calls, TIMEOUT_MS);
    if (answer === undefined) throw new ExchangeFault('its answer is not complete');
    if (served !== undefined && !('result' in served && Number(served.result) === chainId))
      throw new ExchangeFault('it does not serve this chain');
    endpoint.calls.count([COUNTED], [answer], performance.now() - since);
    return answer;
  }

  return async ({ to, data, gas }) => {
    const call = { method: 'eth_call', params: [{ from: SENDER, to, data, gas: `0x${gas.toString(16)}` }, 'latest'] };
    const faults: string[] = [];
    const asked = endpoints.order(false).slice(0, MOST_NODES);
    for (const endpoint of asked) {
      const answer = await askOne(endpoint, call).catch((error: unknown) => {
        if (!(error instanceof ExchangeFault)) throw error;
        return error;
      });
      if (answer instanceof ExchangeFault) {
        faults.push(`${endpoint.host}: ${answer.message}`);
        // A node that kept silent was probably busy with the code; the next one would be busy with it too.
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
