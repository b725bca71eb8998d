import { readTogether, type Engine, type EngineCall, type RpcAnswer } from '../../../sandbox/chain/engine.js';

const NONSENSE = 'nonsense';

/** Answers with what it was asked; refuses nonsense, and with it all that comes in one go. */
function recording(): { readonly engine: Engine; readonly alone: string[]; readonly together: string[][] } {
  const [alone, together]: [string[], string[][]] = [[], []];
  const nameOf = ({ method, params }: EngineCall): string => [method, ...params].join(' ');
  const engine: Engine = {
    request(method, params = []): Promise<RpcAnswer> {
      const name = nameOf({ method, params });
      alone.push(name);
      return Promise.resolve(params[0] === NONSENSE ? { error: { code: -32602, message: 'nonsense' } } : { result: name });
    },
    ask: () => Promise.reject(new Error('not asked here')),
    inOneGo(calls) {
      together.push(calls.map(nameOf));
      return Promise.resolve(calls.some(({ params }) => params[0] === NONSENSE) ? null : calls.map(nameOf));
    },
    close: () => undefined,
  };
  return { engine, alone, together };
}

const results = (answers: readonly RpcAnswer[]): unknown[] =>
  answers.map((answer) => ('result' in answer ? answer.result : answer.error.code));

describe('reads', () => {
  it('of one turn reach the engine in one go, and each asker gets his own answer', async () => {
    const { engine, alone, together } = recording();
    const reads = readTogether(engine);
    const answers = await Promise.all(['a', 'b', 'c'].map((name) => reads.request('eth_call', [name])));
    expect(results(answers)).toEqual(['eth_call a', 'eth_call b', 'eth_call c']);
    expect([alone, together]).toEqual([[], [['eth_call a', 'eth_call b', 'eth_call c']]]);
  });

  it('that come alone go alone, and what is no read does not wait', async () => {
    const { engine, alone, together } = recording();
    const reads = readTogether(engine);
    const read = reads.request('eth_call', ['a']);
    const mined = reads.request('evm_mine');
    expect(alone).toEqual(['evm_mine']);
    expect(results(await Promise.all([read, mined]))).toEqual(['eth_call a', 'evm_mine']);
    expect([alone, together]).toEqual([['evm_mine', 'eth_call a'], []]);
  });

  it('are asked one by one where one of them is refused', async () => {
    const { engine, alone } = recording();
    const reads = readTogether(engine);
    const answers = await Promise.all(['a', NONSENSE, 'c'].map((name) => reads.request('eth_call', [name])));
    expect(results(answers)).toEqual(['eth_call a', -32602, 'eth_call c']);
    expect(alone).toEqual(['eth_call a', `eth_call ${NONSENSE}`, 'eth_call c']);
  });

  it('do not wait for calls with a sender', async () => {
    const { engine, alone, together } = recording();
    const reads = readTogether(engine);
    await Promise.all([reads.request('eth_call', [{ from: 'a' }]), reads.request('eth_call', ['b']), reads.request('eth_getLogs', ['c'])]);
    expect([alone.length, together]).toEqual([1, [['eth_call b', 'eth_getLogs c']]]);
  });

  it('are not more than sixteen at a time', async () => {
    const { engine, together } = recording();
    const reads = readTogether(engine);
    const names = Array.from({ length: 40 }, (_, at) => String(at));
    expect(results(await Promise.all(names.map((name) => reads.request('eth_call', [name]))))).toEqual(
      names.map((name) => `eth_call ${name}`),
    );
    expect(together.map(({ length }) => length)).toEqual([16, 16, 8]);
  });

  it('fail for each asker when the engine is gone', async () => {
    const gone = (): Promise<never> => Promise.reject(new Error('the chain is closed'));
    const reads = readTogether({ ...recording().engine, request: gone, inOneGo: gone });
    const outcomes = await Promise.allSettled(['a', 'b'].map((name) => reads.request('eth_call', [name])));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
