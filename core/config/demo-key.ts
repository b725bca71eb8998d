import { concat, keccak256, stringToHex } from 'viem/utils';

type Hex = `0x${string}`;

/** The first eight bytes of every sandbox key, whatever its seed: production recognises and refuses them. */
const MARK = keccak256(stringToHex('diamond-gateway sandbox account')).slice(0, 18);

/** Derived from the seed alone, and therefore public. */
export const demoKey = (seed: string, name: string): Hex =>
  `${MARK}${keccak256(concat([keccak256(stringToHex(seed)), stringToHex(name)])).slice(MARK.length)}` as Hex;

export const isDemoKey = (key: string): boolean => key.toLowerCase().startsWith(MARK);
