import { concat, keccak256, stringToHex } from 'viem/utils';

type Hex = `0x${string}`;

/** The first eight bytes of every key the sandbox derives, whatever its seed: production knows them by it. */
const MARK = keccak256(stringToHex('diamond-gateway sandbox account')).slice(0, 18);

/** Follows from the seed alone, and is public by that. */
export const demoKey = (seed: string, name: string): Hex =>
  `${MARK}${keccak256(concat([keccak256(stringToHex(seed)), stringToHex(name)])).slice(MARK.length)}` as Hex;

export const isDemoKey = (key: string): boolean => key.toLowerCase().startsWith(MARK);
