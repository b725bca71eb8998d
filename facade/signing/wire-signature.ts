import { hexToBytes } from 'viem/utils';
import type { RecoverableSignature } from '../../core/access/signature.js';
import { isObject, type Json } from './ordered-json.js';

const NUMBER = /^(?:0x)?([0-9a-fA-F]{1,64})$/;
const PARITIES: ReadonlyMap<Json | undefined, 0 | 1> = new Map([
  [0n, 0],
  [1n, 1],
  [27n, 0],
  [28n, 1],
]);

/** `{r, s, v}` as clients send it: numbers may lack leading zeros or `0x`, and `v` its 27. Null for anything else. */
export function readWireSignature(json: Json | undefined): RecoverableSignature | null {
  if (!isObject(json)) return null;
  const [r, s] = [number(json.get('r')), number(json.get('s'))];
  const yParity = PARITIES.get(json.get('v'));
  return r === null || s === null || yParity === undefined ? null : { compact: hexToBytes(`0x${r}${s}`), yParity };
}

function number(json: Json | undefined): string | null {
  const [, digits] = typeof json === 'string' ? (NUMBER.exec(json) ?? []) : [];
  return digits === undefined ? null : digits.padStart(64, '0');
}
