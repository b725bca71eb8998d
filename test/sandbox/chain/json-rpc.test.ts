import { setImmediate as turn } from 'node:timers/promises';
import { answerRpc, type Dispatch } from '../../../sandbox/chain/json-rpc.js';

const batch = (methods: readonly string[]): string =>
  JSON.stringify(methods.map((method, id) => ({ jsonrpc: '2.0', id, method, params: [] })));

/** Answers later the earlier it was asked, and writes down who was under way with whom. */
function slow(): { readonly dispatch: Dispatch; readonly together: string[][] } {
  const together: string[][] = [];
  const underWay: string[] = [];
  let patience = 40;
  const dispatch: Dispatch = async (method) => {
    underWay.push(method);
    together.push([...underWay]);
    for (let turns = (patience -= 1); turns > 0; turns -= 1) await turn();
    underWay.splice(underWay.indexOf(method), 1);
    return { result: method };
  };
  return { dispatch, together };
}

const answersTo = async (methods: readonly string[], dispatch: Dispatch): Promise<unknown[]> =>
  (JSON.parse((await answerRpc(batch(methods), dispatch)) ?? '[]') as { result: unknown }[]).map(({ result }) => result);

describe('a batch', () => {
  it('is answered in its order, whoever is done first', async () => {
    const reads = Array.from({ length: 30 }, (_, at) => `eth_call${at}`);
    const { dispatch, together } = slow();
    expect(await answersTo(reads, dispatch)).toEqual(reads);
    const most = Math.max(...together.map(({ length }) => length));
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(8);
  });

  it.each(['eth_sendRawTransaction', 'eth_newFilter', 'eth_getFilterChanges', 'eth_uninstallFilter', 'eth_subscribe'])(
    'with %s in it does what stands before it first, and what stands behind it afterwards',
    async (ordered) => {
      const { dispatch, together } = slow();
      const methods = ['eth_call', 'eth_getLogs', ordered, ordered, 'eth_getCode', 'eth_chainId'];
      expect(await answersTo(methods, dispatch)).toEqual(methods);
      expect(together).toEqual([
        ['eth_call'],
        ['eth_call', 'eth_getLogs'],
        [ordered],
        [ordered],
        ['eth_getCode'],
        ['eth_getCode', 'eth_chainId'],
      ]);
    },
  );
});
