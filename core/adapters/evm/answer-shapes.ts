import { ExchangeFault, type RpcAnswer, type RpcCall } from './rpc-exchange.js';

type Shape = (result: unknown) => boolean;

const isQuantity: Shape = (result) => typeof result === 'string' && /^0x[0-9a-f]+$/i.test(result);
const isHash: Shape = (result) => typeof result === 'string' && /^0x[0-9a-f]{64}$/i.test(result);

const RECEIPT: Readonly<Record<string, Shape>> = {
  blockHash: isHash,
  blockNumber: isQuantity,
  gasUsed: isQuantity,
  effectiveGasPrice: isQuantity,
  status: (status) => status === '0x0' || status === '0x1',
};

const isReceipt: Shape = (result) =>
  typeof result === 'object' &&
  result !== null &&
  Object.entries(RECEIPT).every(([field, holds]) => holds((result as Readonly<Record<string, unknown>>)[field]));

/** Expected shapes of answers that the relayer's lanes depend on. A malformed answer counts as none, so that another node is tried. */
const SHAPES: ReadonlyMap<string, Shape> = new Map([
  ['eth_getTransactionReceipt', (result) => result === null || isReceipt(result)],
  ['eth_getTransactionCount', isQuantity],
  ['eth_getBalance', isQuantity],
]);

/** A malformed answer is a fault of the endpoint, not of the caller. */
export function checkShapes(calls: readonly RpcCall[], answers: readonly RpcAnswer[]): void {
  for (const [at, { method }] of calls.entries()) {
    const answer = answers[at];
    if (answer !== undefined && 'result' in answer && SHAPES.get(method)?.(answer.result) === false)
      throw new ExchangeFault(`its answer to ${method} cannot be read`);
  }
}
