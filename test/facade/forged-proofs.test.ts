import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { encode } from '@msgpack/msgpack';
import { Wallet } from 'ethers';
import { concatHex, decodeFunctionData, encodeFunctionData, keccak256, numberToHex, toHex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import { CHAINS } from '../../core/chains/chains.js';
import { PUBLISHED_COLLATERALS } from '../../core/chains/collaterals.js';
import type { Hex } from '../../core/types.js';
import { approveAgent, order, postExchange, signL1 } from '../harness/hyperliquid/exchange.js';
import { makeTemporaryFolder } from '../harness/database/temporary-folder.js';
import { domainOf, keyIssue, signWith } from '../harness/traders/master-wallet.js';
import { newFacadeTrader, FACADE_CHAIN, type FacadeTrader } from '../harness/traders/facade-trader.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

/** Forgeries by the one who could make them: the relayer, which has every key but those of traders and agents. */

type Proof = Record<string, unknown> & { readonly envelope: string; readonly data: Hex; readonly to: Hex; readonly context: string };

interface Expected {
  readonly relayer?: string;
  readonly usualLeverage?: number;
  readonly collateral?: number;
}

interface Verifier {
  problemsOf(proof: unknown, expected?: Expected): Promise<string[]>;
  problemsOfAll(proofs: readonly unknown[], expected?: Expected): Promise<{ each: string[][]; together: string[] }>;
}

const SCRIPT = path.resolve(import.meta.dirname, '../../scripts/verify-proof.mjs');
const partOf = (part: string): string => pathToFileURL(path.join(SCRIPT, `../proof/${part}.mjs`)).href;
const HOUR = 3_600_000;
const [BTC, ETH] = [0, 1];
const GTC = { limit: { tif: 'Gtc' } };
const IOC = { limit: { tif: 'Ioc' } };
const stop = (triggerPx: string) => ({ trigger: { isMarket: true, triggerPx, tpsl: 'sl' } });
const take = (triggerPx: string) => ({ trigger: { isMarket: true, triggerPx, tpsl: 'tp' } });

let sandbox: TestVenue;
let verifier: Verifier;
let who: FacadeTrader;
let apiKey: string;
/** Of an opening with a stop loss and a take profit, at a leverage that was signed; sent in time. */
let honest: Proof;
/** The same as the wallet of `forge` would send it: what makes one of its kind fail is only the change. */
const wallet = privateKeyToAccount(generatePrivateKey());

beforeAll(async () => {
  sandbox = await startOwnVenue();
  verifier = (await import(pathToFileURL(SCRIPT).href)) as Verifier;
  who = await newFacadeTrader(sandbox);
  const sign = signWith(new Wallet(who.trader.privateKey), await domainOf(sandbox));
  const issued = await sandbox.post(`/v1/${FACADE_CHAIN}/api-keys`, await keyIssue(sign, who.address, 'proofs'));
  ({ apiKey } = issued.body as { apiKey: string });
  await send({ type: 'updateLeverage', asset: BTC, isCross: true, leverage: 5 });
  const orders = [
    order({ a: BTC, b: true, p: '40000', s: '0.1', r: false, t: GTC }),
    order({ a: BTC, b: false, p: '35000', s: '0.1', r: true, t: stop('35000') }),
    order({ a: BTC, b: false, p: '70000', s: '0.1', r: true, t: take('70000') }),
  ];
  honest = await proofOf(await send({ type: 'order', orders, grouping: 'normalTpsl' }, { expiresAfter: sandbox.clock.now() + 10_000 }));
});
afterAll(() => sandbox.stop());

interface Placed {
  readonly resting?: { readonly oid: number };
  readonly filled?: { readonly oid: number };
}

async function send(action: Record<string, unknown>, options = {}): Promise<readonly Placed[]> {
  const { body } = await postExchange(sandbox.url, FACADE_CHAIN, await signL1(new Wallet(who.agentKey), action, options));
  expect(body).toMatchObject({ status: 'ok' });
  return (body as { response: { data?: { statuses?: Placed[] } } }).response.data?.statuses ?? [];
}

/** Of the last transaction of the first order. */
async function proofOf([placed]: readonly Placed[]): Promise<Proof> {
  const oid = placed?.resting?.oid ?? placed?.filled?.oid;
  if (oid === undefined) throw new Error(`not placed: ${JSON.stringify(placed)}`);
  const stored = await sandbox.gateway.store.orders.find(FACADE_CHAIN, who.address.toLowerCase() as Hex, BigInt(oid));
  const path = `/v1/${FACADE_CHAIN}/account/${who.address}/proofs/${stored?.hashes.at(-1)}`;
  const { status, body } = await sandbox.get(path, { 'X-Service-Api-Key': apiKey });
  expect(status).toBe(200);
  return body as Proof;
}

interface Transaction {
  readonly to?: Hex;
  readonly data?: Hex;
  readonly chainId?: number;
  readonly nonce?: number;
  readonly key?: ReturnType<typeof privateKeyToAccount>;
}

/** Signed by a wallet that the proof names as the trader's delegate. */
async function sentAs(proof: Proof, { key = wallet, nonce = 0, ...sent }: Transaction = {}): Promise<Proof> {
  const { to = proof.to, data = proof.data, chainId = proof['chainId'] as number } = sent;
  const rawTransaction = await key.signTransaction({ type: 'eip1559', chainId, nonce, gas: 100_000n, maxFeePerGas: 1n, to, data });
  const named = { relayer: key.address, delegate: key.address };
  return { ...proof, ...named, chainId, to, data, rawTransaction, txHash: keccak256(rawTransaction) };
}

type Trade = Extract<ReturnType<typeof openingIn>, unknown>;

const openingIn = (data: Hex) => {
  const { args } = decodeFunctionData({ abi: diamondAbi, data });
  const [trader, inner] = args as readonly [Hex, Hex];
  const call = decodeFunctionData({ abi: diamondAbi, data: inner });
  if (call.functionName !== 'openTrade') throw new Error('it opens nothing');
  return { trader, trade: call.args[0], slippageP: call.args[1], referrer: call.args[2] };
};

/** The opening with other fields. */
function opening(proof: Proof, change: Partial<Trade['trade']>): Hex {
  const { trader, trade, slippageP, referrer } = openingIn(proof.data);
  const args = [{ ...trade, ...change }, slippageP, referrer] as const;
  const inner = encodeFunctionData({ abi: diamondAbi, functionName: 'openTrade', args });
  return encodeFunctionData({ abi: diamondAbi, functionName: 'delegatedTradingAction', args: [trader, inner] });
}

const inContext = (proof: Proof, change: (context: Record<string, unknown>) => object): Proof => {
  const job = JSON.parse(proof.context) as { context: Record<string, unknown> };
  return { ...proof, context: JSON.stringify({ ...job, context: { ...job.context, ...change(job.context) } }) };
};

/** At thirty times the leverage the same size needs a thirtieth of the collateral. */
const leveraged = (proof: Proof): Partial<Trade['trade']> => ({
  leverage: 150_000,
  collateralAmount: openingIn(proof.data).trade.collateralAmount / 30n,
});

const tenfold = (proof: Proof): Partial<Trade['trade']> => ({
  collateralAmount: openingIn(proof.data).trade.collateralAmount * 10n,
});

/** The collateral of the context with another figure. */
const collateral = (proof: Proof, field: 'precision' | 'priceUsd', value: bigint) => ({
  collateral: { ...(JSON.parse(proof.context) as { context: { collateral: object } }).context.collateral, [field]: { $n: `${value}` } },
});

/** The signed body of the same action, with other fields behind it, by this key. */
async function signedAgain(proof: Proof, key: Hex, extras: { readonly nonce?: number; readonly expiresAfter?: number }): Promise<Proof> {
  const { action, nonce } = JSON.parse(proof.envelope) as { action: Record<string, unknown>; nonce: number };
  const signed = (await signL1(new Wallet(key), action, { nonce, ...extras })) as { nonce: number };
  const extra = extras.expiresAfter === undefined ? '0x' : concatHex(['0x00', numberToHex(extras.expiresAfter, { size: 8 })]);
  const hashed = concatHex([toHex(encode(action)), numberToHex(signed.nonce, { size: 8 }), '0x00', extra]);
  const named = { signer: new Wallet(key).address, nonce: String(signed.nonce), actionHash: keccak256(hashed) };
  return { ...proof, ...named, envelope: JSON.stringify(signed) };
}

async function approvalBy(master: Hex, agent: string, name: string | null = null): Promise<string> {
  return JSON.stringify(await approveAgent(new Wallet(master), agent, name, { network: 'Testnet' }));
}

const forgeries: readonly (readonly [string, string | RegExp, () => Proof | Promise<Proof>])[] = [
  [
    'by a key that the trader never approved',
    'nothing shows that the trader approved',
    async () => ({ ...(await signedAgain(honest, generatePrivateKey(), {})), approval: null }),
  ],
  ['by a key with the approval of another one', /the trader approved 0x\w+, not 0x/, () => signedAgain(honest, generatePrivateKey(), {})],
  [
    'by a key that another master approved',
    /the approval is signed by 0x\w+, not by the trader/,
    async () => {
      const key = generatePrivateKey();
      return { ...(await signedAgain(honest, key, {})), approval: await approvalBy(generatePrivateKey(), new Wallet(key).address) };
    },
  ],
  [
    'after the approval of its key had ended',
    /after it or its key had expired/,
    async () => ({
      ...honest,
      approval: await approvalBy(who.trader.privateKey, new Wallet(who.agentKey).address, 'bot valid_until 1000'),
    }),
  ],
  [
    'by another relayer',
    /the delegate of the trader is 0x\w+, and not the relayer/,
    async () => ({ ...(await sentAs(honest)), delegate: honest['delegate'] }),
  ],
  [
    'by another relayer than the one that the trader approved the agent for',
    /the trader approved the agent for another chain or relayer/,
    async () => ({
      ...(await sentAs(honest)),
      approval: await approvalBy(who.trader.privateKey, new Wallet(who.agentKey).address, 'gw012345'),
    }),
  ],
  [
    'of a size that stands unsigned beside the signed one',
    /it is larger than was signed/,
    () => {
      const envelope = JSON.parse(honest.envelope) as { action: { orders: Record<string, unknown>[] } };
      Object.assign(envelope.action.orders[0] ?? {}, { sz: '10' });
      const collateralAmount = openingIn(honest.data).trade.collateralAmount * 100n;
      const proof = { ...honest, form: 'canonical', envelope: JSON.stringify(envelope) };
      return sentAs(proof, { data: opening(honest, { collateralAmount }) });
    },
  ],
  [
    'for another contract',
    /the contract of the chain 421614 is not 0x/,
    () => sentAs(honest, { to: '0x00000000000000000000000000000000000000aa' }),
  ],
  [
    'for another chain',
    'the approval is not for the chain 42161',
    () => sentAs(honest, { chainId: 42161, to: CHAINS[0]?.diamond ?? '0x' }),
  ],
  [
    'signed for another chain than it says',
    'the transaction is for the chain 42161, not for 421614',
    async () => ({ ...(await sentAs(honest, { chainId: 42161 })), chainId: 421614 }),
  ],
  [
    'with a leverage of 150 instead of 5',
    'it has the leverage 150000, signed was 5000',
    () => sentAs(honest, { data: opening(honest, leveraged(honest)) }),
  ],
  [
    'with a leverage of 150, and a context that says so',
    'it has the leverage 150000, signed was 5000',
    async () => inContext(await sentAs(honest, { data: opening(honest, leveraged(honest)) }), () => ({ leverage: { $n: '150000' } })),
  ],
  [
    'with a leverage of 150 that the market is said to ask for',
    'no market asks for a leverage of 150000',
    async () =>
      inContext(await sentAs(honest, { data: opening(honest, leveraged(honest)) }), ({ chosen }) => ({
        chosen: { ...(chosen as object), least: { $n: '150000' } },
      })),
  ],
  ['without the action that set its leverage', 'the action that set the leverage is missing', () => ({ ...honest, leverage: null })],
  [
    'as if no leverage was signed',
    /it has the leverage 150000, none was signed, and the usual one is 5000/,
    async () =>
      inContext({ ...(await sentAs(honest, { data: opening(honest, leveraged(honest)) })), leverage: null }, ({ chosen }) => ({
        chosen: { ...(chosen as object), action: null },
      })),
  ],
  [
    'with a leverage that another key signed',
    /of the leverage: the envelope is signed by/,
    () => ({ ...honest, leverage: { ...(honest['leverage'] as object), signer: wallet.address } }),
  ],
  [
    'with ten times its collateral, counted in units of its context',
    'a unit of the collateral 3 is 1000000, the context says 10000000',
    async () =>
      inContext(await sentAs(honest, { data: opening(honest, tenfold(honest)) }), () => collateral(honest, 'precision', 10n ** 7n)),
  ],
  [
    'with ten times its collateral, at a price of its context beyond the limit',
    /it is sized by the price 39\d{14}, which is worse than was signed: 400000000000000/,
    async () => {
      const data = opening(honest, { ...tenfold(honest), tradeType: 0 });
      return inContext(await sentAs(honest, { data }), () => ({ predicted: { $n: `${openingIn(honest.data).trade.openPrice * 10n}` } }));
    },
  ],
  [
    'with a tenth of its collateral, at a price of its context far from the expected one',
    /it is sized by the price \d+, and expects \d+/,
    async () => {
      const { collateralAmount, openPrice } = openingIn(honest.data).trade;
      const data = opening(honest, { tradeType: 0, collateralAmount: collateralAmount / 10n });
      return inContext(await sentAs(honest, { data }), () => ({ predicted: { $n: `${openPrice / 10n}` } }));
    },
  ],
  ['under a network that no client signs for', 'no client signs for the network c', () => ({ ...honest, network: 'c' })],
  [
    'with another collateral',
    'it takes the collateral 1, and bots trade with 3',
    () => sentAs(honest, { data: opening(honest, { collateralIndex: 1 }) }),
  ],
  ['as a counter trade', 'it opens a counter trade', () => sentAs(honest, { data: opening(honest, { isCounterTrade: true }) })],
  ['with a size of its own', 'it fills in fields', () => sentAs(honest, { data: opening(honest, { positionSizeToken: 1n }) })],
  [
    'without the stop loss',
    'it opens with the stop loss 0, which was not signed',
    () => sentAs(honest, { data: opening(honest, { sl: 0n }) }),
  ],
  ['with another stop loss', 'which was not signed', () => sentAs(honest, { data: opening(honest, { sl: 10n ** 14n }) })],
  ['without the take profit', 'it opens with the take profit 0', () => sentAs(honest, { data: opening(honest, { tp: 0n }) })],
  [
    'as a market order far from its price',
    'it is smaller than was signed',
    () => sentAs(honest, { data: opening(honest, { tradeType: 0, openPrice: 10n ** 14n }) }),
  ],
  ['as a stop order', 'it is another kind of order', () => sentAs(honest, { data: opening(honest, { tradeType: 2 }) })],
  [
    'at a price where it is not filled',
    'the price is not the one that was signed',
    () => sentAs(honest, { data: opening(honest, { openPrice: 2n * 10n ** 14n }) }),
  ],
  ['with bytes behind the call', 'not a delegated one', () => sentAs(honest, { data: `${honest.data}00` })],
  [
    'an hour after it expired',
    /it was signed at \d+, after the action or its key had expired/,
    () => ({ ...honest, signedAt: (honest['signedAt'] as number) + HOUR }),
  ],
  [
    'mined an hour after it expired',
    /it is in a block of \d+, and had expired/,
    () => ({ ...honest, minedAt: (honest['minedAt'] as number) + HOUR }),
  ],
  [
    'with an expiry an hour before it arrived',
    /the action arrived at \d+, after it or its key had expired/,
    () => signedAgain(honest, who.agentKey, { expiresAfter: (honest['receivedAt'] as number) - HOUR }),
  ],
];

/** What holds only by figures that no signature covers. */
const doubtful: readonly (readonly [string, RegExp, () => Promise<Proof>])[] = [
  [
    'a market that asks for twice the signed leverage',
    /the market's limits ask for the leverage 10x of this trade instead of 5x, which is the signed one/,
    async () => {
      const collateralAmount = openingIn(honest.data).trade.collateralAmount / 2n;
      const data = opening(honest, { leverage: 10_000, collateralAmount });
      return inContext(await sentAs(honest, { data }), ({ chosen }) => ({ chosen: { ...(chosen as object), least: { $n: '10000' } } }));
    },
  ],
  [
    'a collateral worth a tenth, of which it takes ten times as much',
    /the collateral 3 was worth \$0\.1 at block \d+: its amount \(\d+\) follows .* the position is 10x of the signed size/,
    async () => {
      // All its digits: the size of the order and half a lot, at 5x and at a tenth of a dollar.
      const collateralAmount = (100_005n * openingIn(honest.data).trade.openPrice * 10n ** 29n) / (5_000n * 10n ** 7n * 10n ** 28n);
      return inContext(await sentAs(honest, { data: opening(honest, { collateralAmount }) }), () =>
        collateral(honest, 'priceUsd', 10n ** 7n),
      );
    },
  ],
];

describe('the verifier of proofs', () => {
  it('accepts the honest proof, also as another delegate of the trader would have sent it', async () => {
    expect(honest).toMatchObject({ chainId: 421614, delegate: honest['relayer'], leverage: { signer: honest['signer'] } });
    expect(await verifier.problemsOf(honest)).toEqual([]);
    expect(await verifier.problemsOf(await sentAs(honest))).toEqual([]);
    expect(await verifier.problemsOf(await signedAgain(honest, who.agentKey, {}))).toEqual([]);
  });

  it.each(forgeries)('refuses an opening %s', async (_what, said, forge) => {
    const problems = await verifier.problemsOf(await forge());
    expect(problems.join('\n')).toMatch(said);
  });

  it.each(doubtful)('says in full that nothing proves %s', async (_what, said, forge) => {
    const { unprovenOf } = (await import(partOf('unproven'))) as { unprovenOf: (proof: Proof, expected: Expected) => string[] };
    expect(unprovenOf(honest, {}).join('\n')).not.toMatch(said);
    const forged = await forge();
    expect(await verifier.problemsOf(forged)).toEqual([]);
    expect(unprovenOf(forged, {}).join('\n')).toMatch(said);
  });

  it('binds the relayer that the reader names, whatever the approval says', async () => {
    const relayer = honest['relayer'] as string;
    expect(await verifier.problemsOf(honest, { relayer })).toEqual([]);
    expect((await verifier.problemsOf(await sentAs(honest), { relayer })).join()).toMatch(/it is sent by 0x\w+, and the relayer is 0x/);
    const tagged = {
      ...(await sentAs(honest)),
      approval: await approvalBy(who.trader.privateKey, new Wallet(who.agentKey).address, 'gw012345'),
    };
    expect(await verifier.problemsOf(tagged, { relayer: wallet.address })).toEqual([]);
  });

  it('takes the usual leverage for a trader that set none, and says that nothing signed it', async () => {
    const proof = await proofOf(
      await send({ type: 'order', orders: [order({ a: ETH, b: true, p: '1500', s: '1', r: false, t: GTC })], grouping: 'na' }),
    );
    expect(proof).toMatchObject({ leverage: null });
    expect(await verifier.problemsOf(proof)).toEqual([]);
    expect((await verifier.problemsOf(proof, { usualLeverage: 20 })).join()).toContain('the usual one is 20000');
    expect(await runScript([proof])).toMatchObject({ code: 0, said: expect.stringContaining('set no leverage: none is signed') });
  });

  it('refuses one action in two transactions, and counts a transaction that was sent again at a higher fee as one', async () => {
    const again = await sentAs(honest, { nonce: 1 });
    const once = await verifier.problemsOfAll([honest, honest]);
    expect(once).toEqual({ each: [[], []], together: [] });
    const { each, together } = await verifier.problemsOfAll([honest, again]);
    expect(each).toEqual([[], []]);
    expect(together).toEqual([expect.stringMatching(/^item 0 of the action with the nonce \d+ of 0x\w+ was sent twice \(opening\): 0x/)]);
    expect((await verifier.problemsOfAll([honest, { ...again, state: 'reverted' }])).together).toEqual([]);
    const rested = { ...again, context: again.context.replace('"isLeftToRest":false', '"isLeftToRest":true') };
    expect((await verifier.problemsOfAll([honest, rested])).together).toEqual([
      expect.stringContaining('left to rest although it was executed'),
    ]);
    expect(await runScript([honest, again])).toMatchObject({ code: 1, said: expect.stringContaining('was sent twice') });
    expect(await runScript([honest])).toMatchObject({ code: 0, said: expect.stringContaining('The proof holds.') });
  });

  it('accepts all transactions of an order that becomes several, and refuses more than they close together', async () => {
    const trade = (b: boolean, s: string) =>
      send({ type: 'order', orders: [order({ a: ETH, b, p: b ? '9000' : '1000', s, r: false, t: IOC })], grouping: 'na' });
    await trade(true, '0.3');
    await trade(true, '0.2');
    const placed = await trade(false, '0.7');
    const record = await sandbox.gateway.store.exchange.find(
      FACADE_CHAIN,
      who.address.toLowerCase() as Hex,
      BigInt(placed[0]?.filled?.oid ?? 0),
    );
    const ids = (record?.legs ?? []).map(({ orderId }) => ({ resting: { oid: Number(orderId) } }));
    const proofs = await Promise.all(ids.map((id) => proofOf([id])));
    expect(proofs).toHaveLength(3);
    expect(await verifier.problemsOfAll(proofs)).toEqual({ each: [[], [], []], together: [] });
    const [first, second, opened] = proofs;
    if (!first || !second || !opened) throw new Error('there are three');
    const bent = inContext(second, ({ oracle }) => ({ block: oracle }));
    expect((await verifier.problemsOfAll([first, bent, opened])).together).toEqual([
      expect.stringContaining('was sent by different figures'),
    ]);
  });

  it('has an approval that was replaced since, where the action was signed under it', async () => {
    const agent = new Wallet(who.agentKey).address;
    const before = honest['approval'];
    await postExchange(
      sandbox.url,
      FACADE_CHAIN,
      await approveAgent(new Wallet(who.trader.privateKey), agent, null, { network: 'Testnet' }),
    );
    const headers = { 'X-Service-Api-Key': apiKey };
    const { body } = await sandbox.get(`/v1/${FACADE_CHAIN}/account/${who.address}/proofs/${honest['txHash'] as string}`, headers);
    expect((body as Proof)['approval']).toBe(before);
    const later = await proofOf(
      await send({ type: 'order', orders: [order({ a: ETH, b: true, p: '1400', s: '1', r: false, t: GTC })], grouping: 'na' }),
    );
    expect(later['approval']).not.toBe(before);
    expect(await verifier.problemsOf(later)).toEqual([]);
  });

  it('knows the contracts and collaterals of all chains', async () => {
    const { CHAINS: known } = (await import(partOf('calls'))) as {
      CHAINS: unknown;
    };
    const usual = (slug: (typeof CHAINS)[number]['slug']): number => {
      const all = PUBLISHED_COLLATERALS[slug].map(({ symbol }) => symbol);
      return (all.includes('USDC') ? all.indexOf('USDC') : 0) + 1;
    };
    expect(known).toEqual(
      Object.fromEntries(
        CHAINS.map(({ chainId, slug, diamond, testnet }) => [
          chainId,
          {
            diamond,
            collateral: usual(slug),
            precision: 10n ** BigInt(PUBLISHED_COLLATERALS[slug][usual(slug) - 1]?.decimals ?? 0),
            isTestnet: testnet,
          },
        ]),
      ),
    );
  });
});

/** As people run it, one file for each proof. */
async function runScript(proofs: readonly Proof[]): Promise<{ readonly code: number; readonly said: string }> {
  const folder = await makeTemporaryFolder('diamond-gateway-forged');
  const files = proofs.map((_, at) => path.join(folder, `${at}.json`));
  await Promise.all(files.map((file, at) => writeFile(file, JSON.stringify(proofs[at]))));
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, ...files]);
    return { code: 0, said: stdout };
  } catch (error) {
    const { code, stderr } = error as { code: number; stderr: string };
    return { code, said: stderr };
  }
}
