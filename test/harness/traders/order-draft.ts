import { randomBytes } from 'node:crypto';
import { zeroAddress, type Hex } from 'viem';
import type { ChainSlug } from '../../../core/chains/chains.js';
import { parseDecimal } from '../../../core/domain/decimal.js';
import type { Order } from '../../../core/domain/order.js';
import { positionSizeCollateral } from '../../../core/domain/pricing/size.js';
import type { Draft } from '../../../core/ports/stores/orders.js';
import { appendTag } from '../../../core/trading/encode-intent.js';
import { diamondCall, trade, type Trade } from '../diamond/diamond-calls.js';

const TYPES = ['market', 'limit', 'stop'] as const;

export const newTag = (): Hex => `0x${randomBytes(16).toString('hex')}`;

export interface DraftWishes {
  readonly agent?: `0x${string}`;
  readonly trade?: Partial<Trade>;
  readonly order?: Partial<Order>;
  readonly tag?: Hex;
  readonly fingerprint?: Hex;
  /** USD; no cap when absent. */
  readonly spend?: { readonly usd: string; readonly cap?: string };
  readonly maxUnsent?: number;
  /** When it is prepared, and for how long it may be sent. */
  readonly now?: number;
  readonly forMs?: number;
}

/** An order as the native API prepares it for a trader that sends its own transactions. */
export function orderDraft(chain: ChainSlug, trader: `0x${string}`, wishes: DraftWishes = {}): Draft {
  const { now = Date.now(), forMs = 60_000, tag = newTag() } = wishes;
  const asked = trade(wishes.trade);
  const who = trader.toLowerCase() as `0x${string}`;
  const agent = wishes.agent ?? who;
  const order: Order = {
    trader: who,
    action: 'open',
    type: TYPES[asked.tradeType] ?? 'market',
    pairIndex: asked.pairIndex,
    collateralIndex: asked.collateralIndex,
    long: asked.long,
    reduceOnly: false,
    leverage: BigInt(asked.leverage),
    collateralAmount: asked.collateralAmount,
    sizeCollateral: positionSizeCollateral({ collateralAmount: asked.collateralAmount, leverage: BigInt(asked.leverage) }),
    sizeToken: null,
    price: asked.openPrice,
    tp: asked.tp,
    sl: asked.sl,
    slippageP: 1000n,
    tradeIndex: null,
    clientId: null,
    status: 'prepared',
    txHash: null,
    expiresAt: now + forMs,
    fill: null,
    reason: null,
    createdAt: now,
    updatedAt: now,
    requestedBlock: null,
    ...wishes.order,
  };
  const data = appendTag(diamondCall('openTrade', [asked, 1000, zeroAddress]), tag);
  const account = { chain, agent, trader: who, day: Math.floor(now / 86_400_000) };
  const { spend } = wishes;
  return {
    chain,
    agent,
    order,
    tag,
    data,
    gas: null,
    fingerprint: wishes.fingerprint ?? '0x01',
    spend: spend ? { account, usd: parseDecimal(spend.usd), capUsd: spend.cap === undefined ? null : parseDecimal(spend.cap) } : null,
    maxUnsent: wishes.maxUnsent ?? 50,
  };
}
