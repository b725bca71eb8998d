import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { decodeFunctionData, parseAbi, toFunctionSelector, type Hex } from 'viem';
import { decodeCalls } from '../../client/src/decode-calls.js';
import { DIAMOND_ABI } from '../../client/src/diamond-abi.js';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import { delegationTx, revocationTx } from '../../core/access/delegation.js';
import { chainBySlug } from '../../core/chains/chains.js';
import { READ_FUNCTIONS, TRADE_STRUCT, USED_SELECTORS, WRITE_FUNCTIONS } from '../../core/chains/diamond-functions.js';
import type { Intent, OpenTerms } from '../../core/domain/intent.js';
import { encodeIntent, functionsOf, wrapFor } from '../../core/trading/encode-intent.js';

const TRADER = '0x1111111111111111111111111111111111111111';
const AGENT = '0x2222222222222222222222222222222222222222';
const TERMS: OpenTerms = {
  type: 'limit',
  pairIndex: 0,
  collateralIndex: 3,
  long: true,
  leverage: 10_000n,
  collateralAmount: 100n,
  price: 600n,
  tp: 0n,
  sl: 0n,
  slippageP: 1_000n,
};

/** One of each kind, and each way in which one of them takes more calls or fewer. */
const INTENTS: { readonly [Kind in Intent['kind']]: readonly Extract<Intent, { kind: Kind }>[] } = {
  open: [{ kind: 'open', ...TERMS }],
  close: [
    { kind: 'close', tradeIndex: 1, expectedPrice: 1n, slippageP: null },
    { kind: 'close', tradeIndex: 1, expectedPrice: 1n, slippageP: 5n },
  ],
  decrease: [
    { kind: 'decrease', tradeIndex: 1, collateralDelta: 1n, expectedPrice: 1n, slippageP: null },
    { kind: 'decrease', tradeIndex: 1, collateralDelta: 1n, expectedPrice: 1n, slippageP: 5n },
  ],
  reduce: [
    {
      kind: 'reduce',
      parts: [
        { kind: 'close', tradeIndex: 1, expectedPrice: 1n, slippageP: 5n },
        { kind: 'decrease', tradeIndex: 2, collateralDelta: 1n, expectedPrice: 1n, slippageP: null },
      ],
    },
  ],
  leverage: [{ kind: 'leverage', tradeIndex: 1, leverage: 5_000n }],
  increase: [{ kind: 'increase', tradeIndex: 1, collateralDelta: 1n, leverageDelta: 5_000n, expectedPrice: 1n, slippageP: 5n }],
  withdrawPnl: [{ kind: 'withdrawPnl', tradeIndex: 1, amount: 1n }],
  protect: [
    { kind: 'protect', tradeIndex: 1, tp: 1n, sl: null },
    { kind: 'protect', tradeIndex: 1, tp: null, sl: 1n },
    { kind: 'protect', tradeIndex: 1, tp: 1n, sl: 1n, slippageP: 5n },
  ],
  amend: [{ kind: 'amend', tradeIndex: 1, price: 1n, tp: 0n, sl: 0n, slippageP: 5n }],
  replace: [{ kind: 'replace', tradeIndex: 1, by: TERMS }],
  withdraw: [{ kind: 'withdraw', tradeIndex: 1 }],
  reclaim: [{ kind: 'reclaim', requestIndex: 1 }],
};

/** The functions that a call really reaches, with those inside it. */
function calledBy(data: Hex): string[] {
  const { functionName, args } = decodeFunctionData({ abi: diamondAbi, data });
  if (functionName === 'multicall') return [functionName, ...args[0].flatMap(calledBy)];
  if (functionName === 'delegatedTradingAction') return [functionName, ...calledBy(args[1])];
  return [functionName];
}

const root = path.resolve(import.meta.dirname, '../..');
const sources = (folder: string): string[] =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !/diamond-(?:abi|signatures)\.ts$/.test(name))
    .map((name) => readFileSync(path.join(root, folder, name), 'utf8'));

describe('the functions that the gateway calls', () => {
  it('are listed with the selectors that the contracts give them', () => {
    const selectors = [...USED_SELECTORS.keys()].map((name) => {
      const item = diamondAbi.find((entry) => entry.type === 'function' && entry.name === name);
      return [name, item?.type === 'function' ? toFunctionSelector(item) : null];
    });
    expect([...USED_SELECTORS]).toEqual(selectors);
    expect(new Set(USED_SELECTORS.values()).size).toBe(USED_SELECTORS.size);
  });

  it.each(Object.values(INTENTS).flat())('are known of a write before it is encoded: $kind', (intent) => {
    const inner = encodeIntent(intent, TRADER);
    expect(calledBy(inner).sort()).toEqual([...functionsOf(intent)].sort());
    expect(calledBy(wrapFor(AGENT, TRADER, inner)).sort()).toEqual([...functionsOf(intent), 'delegatedTradingAction'].sort());
  });

  it('are exactly those that the code encodes', () => {
    const chain = chainBySlug('base');
    const delegations = [delegationTx(chain, AGENT), revocationTx(chain)].flatMap(({ data }) => calledBy(data as Hex));
    const writes = Object.values(INTENTS)
      .flat()
      .flatMap((intent) => calledBy(wrapFor(AGENT, TRADER, encodeIntent(intent, TRADER))));
    expect([...new Set([...writes, ...delegations])].sort()).toEqual(Object.keys(WRITE_FUNCTIONS).sort());
  });

  it('have in the client the signatures of the table', () => {
    const abi = parseAbi([TRADE_STRUCT, ...Object.values(WRITE_FUNCTIONS).map(({ signature }) => signature)] as readonly string[]);
    const slim = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
    for (const item of abi) {
      const ofClient = DIAMOND_ABI.find((each) => item.type === 'function' && each.name === item.name);
      expect(slim(item)).toEqual(slim(ofClient));
    }
    expect(abi).toHaveLength(Object.keys(WRITE_FUNCTIONS).length);
  });

  it('are handled by the verifier of the client as the table says', () => {
    const text = sources('client/src').join('\n');
    const compared = new Set([...text.matchAll(/functionName (?:===|!==) '(\w+)'/g)].map(([, name = '']) => name));
    const made = new Set([...text.matchAll(/functionName: '(\w+)'/g)].map(([, name = '']) => name));
    for (const [name, { client }] of Object.entries(WRITE_FUNCTIONS))
      expect([name, client === 'makes' ? made.has(name) && !compared.has(name) : compared.has(name)]).toEqual([name, true]);
    const inner = encodeIntent({ kind: 'withdraw', tradeIndex: 1 }, TRADER);
    const [only] = decodeCalls(wrapFor(AGENT, TRADER, inner), { trader: TRADER, sender: AGENT });
    expect(only).toMatchObject({ functionName: 'cancelOpenOrder', args: [1] });
  });

  it('are known to the script that verifies proofs, as far as the relayer signs them', () => {
    const text = readFileSync(path.join(root, 'scripts/proof/calls.mjs'), 'utf8');
    const listed = [...text.matchAll(/^  '(function [^']+|struct [^']+)',$/gm)].map(([, signature = '']) => signature);
    const signed = Object.values(WRITE_FUNCTIONS).filter(({ nature, client }) => nature !== null || client === 'unwraps');
    const withoutResult = signed.map(({ signature }) => signature.split(' returns ', 1)[0] ?? '');
    expect(listed.sort()).toEqual([TRADE_STRUCT, ...withoutResult].sort());
  });

  it('are all that the adapters read', () => {
    const ofDiamond = new Set<string>(diamondAbi.flatMap((item) => (item.type === 'function' ? [item.name] : [])));
    const asked = sources('core').flatMap((text) => [...text.matchAll(/(?:functionName: |\.view\()'(\w+)'/g)].map(([, name = '']) => name));
    const isRead = (name: string): boolean => ofDiamond.has(name) && !(name in WRITE_FUNCTIONS) && name !== 'facetAddress';
    expect([...new Set(asked)].filter(isRead).sort()).toEqual(Object.keys(READ_FUNCTIONS).sort());
  });
});
