import path from 'node:path';

interface Call {
  readonly method: string;
}
interface Session {
  readonly wallet: { readonly provider: { request(call: Call): Promise<unknown> } };
  readonly address: string;
  readonly chainId: number;
}
interface Module {
  readonly guardActs: (guard: (session: Session) => Promise<void>) => () => void;
  readonly rpcOf: (session: Session) => (method: string, params: readonly unknown[]) => Promise<unknown>;
  readonly signTypedData: (session: Session, data: object) => Promise<string>;
  readonly sendTransaction: (session: Session, transaction: { readonly to: string }) => Promise<string>;
}

/** Named at run time: the types of a browser, which the module brings, do not go with those of Node. */
const { guardActs, rpcOf, signTypedData, sendTransaction } = (await import(
  path.resolve(import.meta.dirname, '../../web/connect/session.ts')
)) as Module;

const HASH = `0x${'ab'.repeat(32)}`;
const ADDRESS = `0x${'12'.repeat(20)}`;

function walletOn(chainId: number) {
  const asked: string[] = [];
  const request = ({ method }: Call): Promise<unknown> => {
    asked.push(method);
    return Promise.resolve(method === 'eth_chainId' ? `0x${chainId.toString(16)}` : HASH);
  };
  return { asked, session: { wallet: { provider: { request } }, address: ADDRESS, chainId: 42 } };
}

const ACTS: readonly (readonly [what: string, method: string, act: (session: Session) => Promise<unknown>])[] = [
  ['signs', 'eth_signTypedData_v4', (session) => signTypedData(session, { types: {}, message: {} })],
  ['sends', 'eth_sendTransaction', (session) => sendTransaction(session, { to: ADDRESS })],
  ['broadcasts', 'eth_sendRawTransaction', (session) => rpcOf(session)('eth_sendRawTransaction', ['0x'])],
];

describe.each(ACTS)('a page that %s', (_what, method, act) => {
  it('asks its guard first, every time', async () => {
    const { session, asked } = walletOn(42);
    const before: (readonly string[])[] = [];
    const release = guardActs((given) => {
      expect(given).toBe(session);
      before.push([...asked]);
      return Promise.resolve();
    });
    await act(session);
    await act(session);
    release();
    expect(before.map((methods) => methods.filter((one) => one === method))).toEqual([[], [method]]);
    expect(asked.filter((one) => one === method)).toHaveLength(2);
  });

  it('asks the wallet nothing when the guard refuses', async () => {
    const { session, asked } = walletOn(42);
    const release = guardActs(() => Promise.reject(new Error('another node')));
    await expect(act(session)).rejects.toThrow('another node');
    release();
    expect(asked).toEqual([]);
    await act(session);
    expect(asked).toContain(method);
  });
});

it('reads without the guard', async () => {
  const { session, asked } = walletOn(42);
  const release = guardActs(() => Promise.reject(new Error('another node')));
  await rpcOf(session)('eth_call', []);
  release();
  expect(asked).toEqual(['eth_call']);
});

it('sends nothing when the wallet has changed to another chain', async () => {
  const { session, asked } = walletOn(43);
  await expect(sendTransaction(session, { to: ADDRESS })).rejects.toThrow('Nothing was sent');
  expect(asked).toEqual(['eth_chainId']);
});
