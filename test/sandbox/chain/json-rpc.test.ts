import { setImmediate as turn } from 'node:timers/promises';
import { answerRpc, type Dispatch } from '../../../sandbox/chain/rpc-server.js';

const batch = (methods: readonly string[]): string =>
  JSON.stringify(methods.map((method, id) => ({ jsonrpc: '2.0', id, method, params: [] })));

/** Answers later the earlier it was asked, and writes down who was under way with whom. */
function slow(): { readonly dispatch: Dispatch; readonly together: string[][] } {
  const together: string[][] = [];
  const underWay: string[] = [];
  let patience = 200;
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

const READS = ['eth_call', 'eth_getLogs', 'eth_getCode', 'eth_chainId'] as const;

describe('a batch', () => {
  it('is answered in its order, whichever call is done first, and not all at once', async () => {
    const reads = Array.from({ length: 150 }, (_, at) => `eth_call${at}`);
    const { dispatch, together } = slow();
    expect(await answersTo(reads, dispatch)).toEqual(reads);
    expect(Math.max(...together.map(({ length }) => length))).toBe(64);
  });

  it.each(['eth_newFilter', 'eth_getFilterChanges', 'eth_uninstallFilter', 'eth_subscribe'])(
    'with %s in it does what stands before it first, and what stands behind it afterwards',
    async (ordered) => {
      const { dispatch, together } = slow();
      const [call, logs, code, id] = READS;
      const methods = [call, logs, ordered, ordered, code, id];
      expect(await answersTo(methods, dispatch)).toEqual(methods);
      expect(together).toEqual([[call], [call, logs], [ordered], [ordered], [code], [code, id]]);
    },
  );

  it('hands over a run of transactions in its order, after what stands before it and before what stands behind it', async () => {
    const { dispatch, together } = slow();
    const [call, logs, code, id] = READS;
    const send = 'eth_sendRawTransaction';
    const methods = [call, logs, send, send, code, id];
    expect(await answersTo(methods, dispatch)).toEqual(methods);
    expect(together).toEqual([[call], [call, logs], [send], [send, send], [code], [code, id]]);
  });
});
