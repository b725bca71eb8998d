import { parseAbi, toEventSelector, toFunctionSelector, type Abi } from 'viem';
import { diamondAbi } from '../../../core/adapters/evm/diamond-abi.js';
import { DIAMOND_SIGNATURES } from '../../../core/adapters/evm/diamond-signatures.js';
import { PINNED } from './pinned-abi.js';

const items: Abi = diamondAbi;

function hashOf(kind: string, name: string): string[] {
  return items.flatMap((item) => {
    if (item.type !== kind || !('name' in item) || item.name !== name) return [];
    if (item.type === 'event') return [toEventSelector(item)];
    return [toFunctionSelector({ ...item, type: 'function', outputs: [], stateMutability: 'view' } as never)];
  });
}

describe('the Diamond ABI', () => {
  it.each(PINNED.map(([kind, name, hash]) => [kind, name, hash] as const))('has the %s %s under its published hash', (kind, name, hash) => {
    expect(hashOf(kind, name)).toContain(hash);
  });

  it('is what its signatures say', () => {
    expect(JSON.parse(JSON.stringify(diamondAbi))).toEqual(JSON.parse(JSON.stringify(parseAbi(DIAMOND_SIGNATURES as readonly string[]))));
  });
});
