import type { Order, PreparedTransaction } from './api.js';
import type { Signer } from './agent.js';
import type { ChainFacts } from './chains.js';
import { decodeCalls, type Call } from './decode-calls.js';
import { requireSame, VerificationError } from './errors.js';
import { verifyCancel, verifyOrderChange, verifyPositionChange } from './verify-change.js';
import { symbolOf, type Asked, type Context } from './verify-context.js';
import { verifyOpening } from './verify-open.js';
import { verifyClose, verifyReduction } from './verify-reduce.js';

export interface Verified {
  /** What the transaction does, in its order. */
  readonly calls: readonly Call[];
}

export interface Envelope {
  readonly transaction: PreparedTransaction;
  /** Known beforehand: the reply does not decide where a transaction goes. */
  readonly chain: Pick<ChainFacts, 'chainId' | 'diamond'>;
  readonly sender: Signer['address'];
  /** Epoch ms. */
  readonly now: number;
}

/** Most gas that a prepared transaction may use: closing twenty positions at once needs less. */
const MAX_GAS = 15_000_000n;

/** Throws a VerificationError unless the transaction does what was asked for, and nothing else. */
export async function verify(asked: Asked, { transaction, chain, sender, now }: Envelope, context: Context): Promise<Verified> {
  requireSame('CHAIN_ID', 'the transaction is for another chain', chain.chainId, transaction.chainId);
  requireSame('TO', 'the transaction goes to another contract than the Diamond', chain.diamond, transaction.to);
  requireSame('VALUE', 'no operation sends native coins', '0', transaction.value);
  if (transaction.gas !== null && !isPlausibleGas(transaction.gas))
    throw new VerificationError('GAS', 'no operation needs so much gas', `at most ${MAX_GAS}`, transaction.gas);
  if (!(transaction.expiresAt > now)) throw new VerificationError('EXPIRED', 'the transaction has expired; prepare it again');
  const calls = decodeCalls(transaction.data, { trader: context.trader, sender });
  await verifyCalls(context, asked, calls);
  return { calls };
}

const isPlausibleGas = (gas: string): boolean => /^[1-9]\d{0,8}$/.test(gas) && BigInt(gas) <= MAX_GAS;

async function verifyCalls(context: Context, asked: Asked, calls: readonly Call[]): Promise<void> {
  switch (asked.operation) {
    case 'createOrder': {
      if (asked.input.reduceOnly === true) return verifyReduction(context, asked.input, calls);
      const [call, ...others] = calls;
      if (call === undefined || others.length > 0)
        throw new VerificationError('CALLS', 'an opening is one call', '1', String(calls.length));
      if (call.functionName !== 'openTrade')
        throw new VerificationError('FUNCTION', 'an opening calls openTrade', 'openTrade', call.functionName);
      return verifyOpening(context, asked.input, call);
    }
    case 'updateOrder':
      return verifyOrderChange(context, asked.input, calls);
    case 'cancelOrder':
      return verifyCancel(context, asked.input, calls);
    case 'closePosition':
      return verifyClose(context, asked.input, calls);
    case 'updatePosition':
      return verifyPositionChange(context, asked.input, calls);
  }
}

/** The order that the reply describes must be the one that was asked for: its id is what a caller waits for. */
export function verifyOrder(asked: Asked, order: Order | null): void {
  if (order === null) return;
  const { operation, input } = asked;
  if (operation === 'updateOrder' || operation === 'cancelOrder')
    requireSame('ORDER', 'the reply is about another order', input.id, order.id);
  if (operation !== 'createOrder') return;
  requireSame('ORDER', 'the reply is about another market', symbolOf(input.market), order.market);
  requireSame('ORDER', 'the reply is about the other side', input.side, order.side);
  requireSame('ORDER', 'the reply is about another type', input.type, order.type);
  if (input.clientId !== undefined) requireSame('ORDER', 'the reply is about another client id', input.clientId, order.clientId ?? 'none');
}
