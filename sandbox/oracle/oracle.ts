import { encodeFunctionData } from 'viem';
import type { Logger } from '../../core/ports/log.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Address, Cancel } from '../../core/types.js';
import { sandboxControlAbi } from '../contracts/artefact.js';
import type { Sender } from '../sender.js';
import { keyOf, type OrderBook, type PendingRequest } from './order-book.js';

export const ORACLE_MODES = ['auto', 'hold', 'reject'] as const;
export type OracleMode = (typeof ORACLE_MODES)[number];

export interface OraclePolicy {
  readonly mode: OracleMode;
  /** The contract's CancelReason of a rejection. */
  readonly reason: number;
  readonly delayMs: number;
}

interface Waiting {
  /** When the request was first seen. */
  readonly since: number;
  answers: number;
  /** When the node accepted the last answer. */
  answeredAt: number;
  /** An answer is queued. */
  isLeaving: boolean;
}

export interface Oracle {
  /** null = every market without a policy of its own. */
  setPolicy(pairIndex: number | null, policy: Partial<OraclePolicy>): void;
  /** Forgets every policy. */
  reset(): void;
  policy(pairIndex: number): OraclePolicy;
  /** Checks pending requests; called for every block. */
  look(): void;
  stop(): void;
}

export interface OracleOptions {
  readonly diamond: Address;
  readonly book: OrderBook;
  readonly sender: Sender;
  readonly clock: Clock;
  readonly log: Logger;
  readonly delayMs: number;
  /** 1e10, the walk's current price. */
  readonly priceOf: (pairIndex: number) => bigint;
  /** A closed market gets no answer, as with the real oracles. */
  readonly isOpen: (pairIndex: number) => boolean;
}

/** An answer without effect (the callback reverted, or a reorganisation dropped it) is repeated at growing intervals: some never succeed. */
const RETRY_MS = 3_000;
const LONGEST_RETRY_MS = 60_000;
const REASON_SLIPPAGE = 3;

/** Answers price requests as the real oracles do: with a delay, and with the price at that time. */
export function createOracle(options: OracleOptions): Oracle {
  const { book, clock } = options;
  const base: OraclePolicy = { mode: 'auto', reason: REASON_SLIPPAGE, delayMs: options.delayMs };
  let common = base;
  const special = new Map<number, OraclePolicy>();
  const waiting = new Map<string, Waiting>();
  const timers = new Map<string, Cancel>();

  const policyOf = (pairIndex: number): OraclePolicy => special.get(pairIndex) ?? common;

  function consider(request: PendingRequest): void {
    const key = keyOf(request);
    const seen = waiting.get(key) ?? { since: clock.now(), answers: 0, answeredAt: 0, isLeaving: false };
    waiting.set(key, seen);
    const { mode, delayMs } = policyOf(request.pairIndex);
    if (timers.has(key) || seen.isLeaving || mode === 'hold' || !options.isOpen(request.pairIndex)) return;
    const due =
      seen.answers === 0 ? seen.since + delayMs : seen.answeredAt + Math.min(LONGEST_RETRY_MS, RETRY_MS * 2 ** (seen.answers - 1));
    timers.set(
      key,
      clock.after(Math.max(0, due - clock.now()), () => {
        timers.delete(key);
        answer(request, seen);
      }),
    );
  }

  function answer(request: PendingRequest, seen: Waiting): void {
    const { mode, reason } = policyOf(request.pairIndex);
    if (!book.requests.has(keyOf(request)) || mode === 'hold' || !options.isOpen(request.pairIndex)) return;
    seen.answers += 1;
    seen.isLeaving = true;
    const orderId = { user: request.user, index: request.index };
    const price = options.priceOf(request.pairIndex);
    const data =
      mode === 'reject'
        ? encodeFunctionData({ abi: sandboxControlAbi, functionName: 'sandboxRejectAt', args: [orderId, reason, price] })
        : encodeFunctionData({ abi: sandboxControlAbi, functionName: 'sandboxFulfill', args: [orderId, price] });
    options.sender
      .send({ to: options.diamond, data })
      .catch((error: unknown) => options.log.warn('oracle.answer-failed', { ...orderId, error }))
      .finally(() => {
        seen.isLeaving = false;
        seen.answeredAt = clock.now();
      });
  }

  /** Requests scheduled under another policy are scheduled again with the next check. */
  function unschedule(): void {
    for (const cancel of timers.values()) cancel();
    timers.clear();
  }

  function forgetResolved(): void {
    for (const key of waiting.keys())
      if (!book.requests.has(key)) {
        waiting.delete(key);
        timers.get(key)?.();
        timers.delete(key);
      }
  }

  return {
    policy: policyOf,
    setPolicy(pairIndex, change) {
      if (pairIndex === null) {
        common = { ...common, ...change };
        special.clear();
      } else special.set(pairIndex, { ...policyOf(pairIndex), ...change });
      unschedule();
    },
    reset() {
      common = base;
      special.clear();
      unschedule();
    },
    look() {
      forgetResolved();
      for (const request of book.requests.values()) consider(request);
    },
    stop: unschedule,
  };
}
