import { keccak256, toBytes } from 'viem';

/** A number below 2^53 that identifies an execution; `what` distinguishes those of one transaction. */
export const tradeId = (hash: string, what: string): number => Number(BigInt(keccak256(toBytes(`${hash} ${what}`))) >> 203n);
