import { beginReads } from './engine-reads.js';
import type * as Edr from '@nomicfoundation/edr';

/**
 * One chain of the engine for the whole process: deploying the contracts takes longer than many blocks. Every run goes back to the state in
 * which `keepChain` found it.
 */
let kept: { readonly provider: Edr.Provider; snapshot: string } | null = null;
let newest: Edr.Provider | null = null;
let ask: Edr.Provider['handleRequest'] | null = null;

async function request(provider: Edr.Provider, method: string, params: readonly unknown[]): Promise<unknown> {
  if (ask === null) throw new Error('the engine is not simulated');
  const { data } = await ask.call(provider, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  const answer = (typeof data === 'string' ? JSON.parse(data) : data) as { readonly result?: unknown; readonly error?: unknown };
  if (answer.result === undefined || answer.result === false) throw new Error(`${method}: ${JSON.stringify(answer)}`);
  return answer.result;
}

/** From now on every new chain is the newest one, as it is now. */
export async function keepChain(): Promise<void> {
  if (newest === null) throw new Error('there is no chain to keep');
  kept = { provider: newest, snapshot: (await request(newest, 'evm_snapshot', [])) as string };
}

export const isChainKept = (): boolean => kept !== null;

/** Replaces the creation of a chain; returns what puts it back. */
export function replaceNewChains(context: Edr.EdrContext, provider: Edr.Provider): () => void {
  // oxlint-disable-next-line typescript/unbound-method -- called as a method of a context
  const create = context.createProvider;
  // oxlint-disable-next-line typescript/unbound-method -- called as a method of a provider
  ask = provider.handleRequest;
  context.createProvider = async function createOrGoBack(this: Edr.EdrContext, ...given) {
    beginReads(kept !== null);
    if (kept === null) return (newest = await create.apply(this, given));
    // A snapshot that was gone back to is used up.
    await request(kept.provider, 'evm_revert', [kept.snapshot]);
    kept.snapshot = (await request(kept.provider, 'evm_snapshot', [])) as string;
    return kept.provider;
  };
  return () => void (context.createProvider = create);
}
