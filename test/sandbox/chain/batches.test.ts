import { keccak256, numberToHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { Hex } from '../../../core/types.js';
import { alice, bob, call, cleanUp, post, REVERTER, sign, startNode, type Answer, type Draft } from './fixture.js';

afterEach(cleanUp);

interface Asked {
  readonly method: string;
  readonly params: readonly unknown[];
}

const DEAR = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 3n } as const;

const sendOf = (raw: unknown): Asked => ({ method: 'eth_sendRawTransaction', params: [raw] });

async function inOneBatch(url: string, asked: readonly Asked[]): Promise<Answer[]> {
  const { body } = await post(
    url,
    asked.map((each, id) => ({ jsonrpc: '2.0', id, ...each })),
  );
  return body as Answer[];
}

async function oneByOne(url: string, asked: readonly Asked[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const [id, { method, params }] of asked.entries()) answers.push({ ...(await call(url, method, params)), id });
  return answers;
}

async function minedIn(url: string): Promise<unknown> {
  const { result } = await call(url, 'eth_getBlockByNumber', ['latest', false]);
  return (result as { transactions: unknown }).transactions;
}

/** The same to two nodes, to one of them in a batch: answers and blocks have to be the same. */
async function expectSame(batches: readonly (readonly Asked[])[]): Promise<Answer[][]> {
  const [batched, single] = [await startNode(), await startNode()];
  const answers: Answer[][] = [];
  for (const asked of batches) {
    const together = await inOneBatch(batched.url, asked);
    expect(together).toEqual(await oneByOne(single.url, asked));
    answers.push(together);
    await Promise.all([batched, single].map((node) => node.mine(1)));
    expect(await minedIn(batched.url)).toEqual(await minedIn(single.url));
  }
  return answers;
}

describe('a batch of transactions', () => {
  it('is taken in its order', async () => {
    const raws = await Promise.all([0, 1, 2, 3].map((nonce) => sign({ nonce })));
    const [answers] = await expectSame([raws.map(sendOf)]);
    expect(answers?.map(({ result }) => result)).toEqual(raws.map((raw) => keccak256(raw)));
  });

  it.each<[string, () => Promise<unknown[]>]>([
    ['one that is refused in the middle', () => signAll([{ nonce: 0 }, { nonce: 1, gas: 10n }, { nonce: 1 }, { nonce: 2 }])],
    ['one that is refused first', () => signAll([{ nonce: 0, chainId: 1 }, { nonce: 0 }, { nonce: 1 }])],
    ['one that is refused last', () => signAll([{ nonce: 0 }, { nonce: 1 }, { nonce: 2, value: 10n ** 22n }])],
    ['the same one twice', () => signAll([{ nonce: 0 }, { nonce: 1 }, { nonce: 1 }, { nonce: 2 }])],
    ['two of one nonce, the second too cheap', () => signAll([{ nonce: 0 }, { nonce: 0, value: 1n }, { nonce: 1 }])],
    ['two of one nonce, the second dear', () => signAll([{ nonce: 0 }, { nonce: 0, ...DEAR }])],
    ['two of one nonce and a refused one', () => signAll([{ nonce: 0 }, { nonce: 0, ...DEAR }, { nonce: 1, gas: 10n }, { nonce: 1 }])],
    ['a nonce left out and a refused one', () => signAll([{ nonce: 2 }, { nonce: 0 }, { nonce: 1, gas: 10n }, { nonce: 1 }])],
    ['bytes behind one and a refused one', async () => [`${await sign({ nonce: 0 })}00`, await sign({ nonce: 1 }), '0x12']],
    ['nonces in the wrong order', () => signAll([{ nonce: 2 }, { nonce: 0 }, { nonce: 1 }])],
    ['a nonce left out', () => signAll([{ nonce: 0 }, { nonce: 2 }])],
    ['more than the sender owns', () => signAll([600, 600, 10].map((ether, nonce) => ({ nonce, value: BigInt(ether) * 10n ** 18n })))],
    ['what is no transaction', async () => [...(await signAll([{ nonce: 0 }])), '0x1234', ...(await signAll([{ nonce: 1 }]))]],
    ['what is no hex', async () => [...(await signAll([{ nonce: 0 }])), 'nonsense', null, 5, ...(await signAll([{ nonce: 1 }]))]],
    [
      'two senders',
      async () => [await sign({ nonce: 0 }), await sign({ nonce: 0 }, bob), await sign({ nonce: 1 }), await sign({ nonce: 1 }, bob)],
    ],
  ])('with %s is answered as if they came one by one', async (_, given) => {
    await expectSame([(await given()).map(sendOf)]);
  });

  it('that is refused in part leaves what it would have replaced', async () => {
    const [first, dear, bad, cheap] = await signAll([{ nonce: 0 }, { nonce: 0, ...DEAR }, { nonce: 1, gas: 10n }, { nonce: 0, value: 1n }]);
    const [batched, single] = [await startNode(), await startNode()];
    for (const { url } of [batched, single]) await oneByOne(url, [sendOf(first)]);
    const asked = [cheap, dear, bad].map(sendOf);
    expect(await inOneBatch(batched.url, asked)).toEqual(await oneByOne(single.url, asked));
    for (const node of [batched, single]) await node.mine(1);
    expect(await minedIn(batched.url)).toEqual([keccak256(dear ?? '0x')]);
    expect(await minedIn(single.url)).toEqual([keccak256(dear ?? '0x')]);
  });

  it('and another that comes meanwhile are taken one after the other', async () => {
    const senders = Array.from({ length: 10 }, (_, at) => privateKeyToAccount(numberToHex(at + 1, { size: 32 })));
    const node = await startNode({ balances: new Map(senders.map(({ address }) => [address, 10n ** 21n])) });
    const [last] = senders.slice(-1);
    const raws = await Promise.all(senders.flatMap((sender) => [sign({ nonce: 0 }, sender), sign({ nonce: 1 }, sender)]));
    const dear = await sign({ nonce: 1, ...DEAR }, last);
    const sent = raws.map((raw) => node.request('eth_sendRawTransaction', [raw]));
    await sent[0];
    const replaced = node.request('eth_sendRawTransaction', [dear]);
    expect(await Promise.all([...sent, replaced])).toEqual([...raws, dear].map((raw) => keccak256(raw)));
    await node.mine(1);
    expect(new Set((await minedIn(node.url)) as Hex[])).toEqual(new Set([...raws.slice(0, -1), dear].map((raw) => keccak256(raw))));
  });

  it('may hold some that were sent or mined before', async () => {
    const [first, second, third, fourth] = await signAll([{ nonce: 0 }, { nonce: 1 }, { nonce: 2 }, { nonce: 3 }]);
    await expectSame([[first, second].map(sendOf), [third, second, first, fourth].map(sendOf)]);
    const node = await startNode();
    const waiting = [first, second].map(sendOf);
    await inOneBatch(node.url, waiting);
    const again = await inOneBatch(node.url, [...waiting, sendOf(third)]);
    expect(again.map(({ result, error }) => error?.message ?? result)).toEqual([
      'already known',
      'already known',
      keccak256(third ?? '0x'),
    ]);
  });
});

describe('a batch of reads', () => {
  it('is answered as if they came one by one, whatever one of them is', async () => {
    const reads: Asked[] = [
      { method: 'eth_getBalance', params: [alice.address, 'latest'] },
      { method: 'eth_call', params: [{ to: REVERTER.address, data: '0x12345678' }, 'latest'] },
      { method: 'eth_getTransactionCount', params: ['nobody', 'latest'] },
      { method: 'eth_getTransactionReceipt', params: [`0x${'00'.repeat(32)}`] },
      { method: 'eth_getBlockByNumber', params: ['0x99', false] },
      { method: 'eth_nothing', params: [] },
      { method: 'eth_chainId', params: [] },
    ];
    await expectSame([reads, reads.filter(({ method }) => method !== 'eth_getTransactionCount'), reads.slice(-1)]);
  });
});

const signAll = (drafts: readonly Draft[]): Promise<Hex[]> => Promise.all(drafts.map((draft) => sign(draft)));
