import { keccak256, toBytes } from 'viem';

/** A number below 2^53 that tells executions apart; `what` sets those of one transaction apart. */
export const tradeId = (hash: string, what: string): number => Number(BigInt(keccak256(toBytes(`${hash} ${what}`))) >> 203n);
