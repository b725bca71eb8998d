import { Wallet } from 'ethers';
import { generatePrivateKey } from 'viem/accounts';
import { newTrader } from '../harness/traders/chain-trader.js';
import { startSecondGateway, type SecondGateway } from '../harness/venue/second-gateway.js';
import {
  approveAgent,
  nextNonce,
  postExchange,
  signL1,
  signUserSigned,
  type ExchangeAnswer,
  type ExchangeBody,
} from '../harness/hyperliquid/exchange.js';
import { startOwnVenue, type TestVenue } from '../harness/venue/own-venue.js';

const HERE = 'arbitrum-sepolia';
const THERE = 'base';
const DAY_MS = 86_400_000;
const AGENT_LIMIT = 150;
const DONE = { status: 200, body: { status: 'ok', response: { type: 'default' } } };
const err = (response: unknown) => ({ status: 200, body: { status: 'err', response } });
const duplicate = ({ nonce }: ExchangeBody) => err(`Invalid nonce: duplicate nonce ${nonce}`);

let sandbox: TestVenue;
let replica: SecondGateway;

beforeAll(async () => {
  sandbox = await startOwnVenue({ SANDBOX_CHAINS: `${HERE},${THERE}`, RATE_LIMIT_AGENT: String(AGENT_LIMIT) });
  replica = await startSecondGateway(sandbox, { relays: true });
});
afterAll(async () => {
  await replica.stop();
  await sandbox.stop();
});

const post = (body: unknown, chain = HERE, url = sandbox.url) => postExchange(url, chain, body);
const noop = (wallet: Wallet, options?: Parameters<typeof signL1>[2]) => signL1(wallet, { type: 'noop' }, options);

async function tagOf(chain: string): Promise<string> {
  return ((await sandbox.get(`/v1/${chain}`)).body as { agentNameTag: string }).agentNameTag;
}

async function newMaster(chain: string): Promise<Wallet> {
  const controls = sandbox.controls.chains.find(({ definition }) => definition.slug === chain);
  if (!controls) throw new Error(`no ${chain}`);
  return new Wallet((await newTrader(controls)).privateKey);
}

/** A fresh agent of a fresh trader, approved on the chains. */
async function newAgent(...chains: string[]): Promise<Wallet> {
  const agent = new Wallet(generatePrivateKey());
  let key: string | null = null;
  for (const chain of chains) {
    const controls = sandbox.controls.chains.find(({ definition }) => definition.slug === chain);
    if (!controls) throw new Error(`no ${chain}`);
    key ??= (await newTrader(controls)).privateKey;
    await controls.faucet.fund(new Wallet(key).address as `0x${string}`, { eth: '1' });
    expect(await post(await approveAgent(new Wallet(key), agent.address, await tagOf(chain)), chain)).toMatchObject({
      body: { status: 'ok' },
    });
  }
  return agent;
}

describe('the nonces of a signer', () => {
  it('come in any order, and each once', async () => {
    const agent = await newAgent(HERE);
    const base = nextNonce();
    for (const nonce of [base, base + 5, base + 2, base - 1000]) expect(await post(await noop(agent, { nonce }))).toMatchObject(DONE);
    for (const nonce of [base + 2, base - 1000])
      expect(await post(await noop(agent, { nonce }))).toMatchObject(err(`Invalid nonce: duplicate nonce ${nonce}`));
  });

  it('are spent for every chain, both networks, every replica and every start of the service', async () => {
    const agent = await newAgent(HERE, THERE);
    const body = await noop(agent);
    expect(await post(body)).toMatchObject(DONE);
    expect(await post(body)).toMatchObject(duplicate(body));
    expect(await post(body, THERE)).toMatchObject(duplicate(body));
    expect(await post(await noop(agent, { nonce: body.nonce, source: 'b' }))).toMatchObject(duplicate(body));
    expect(await post(body, HERE, replica.url)).toMatchObject(duplicate(body));
    expect(await post(body, THERE, replica.url)).toMatchObject(duplicate(body));
    const restarted = await startSecondGateway(sandbox, { relays: true });
    expect(await post(body, HERE, restarted.url)).toMatchObject(duplicate(body));
    await restarted.stop();
  });

  it('are shared by what agents and what wallets sign', async () => {
    const agent = await newAgent(HERE);
    const body = await noop(agent);
    expect(await post(body)).toMatchObject(DONE);
    const fee = await signUserSigned(
      agent,
      ['approveBuilderFee', 'ApproveBuilderFee', 'string maxFeeRate', 'address builder'],
      { maxFeeRate: '0.01%', builder: agent.address },
      { nonce: body.nonce },
    );
    expect(await post(fee)).toMatchObject(duplicate(body));
  });

  it('are taken once, however many replicas and chains receive the same body', async () => {
    const agent = await newAgent(HERE, THERE);
    const body = await noop(agent);
    const targets = [sandbox.url, replica.url].flatMap((url) => [HERE, THERE].map((chain) => ({ url, chain })));
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, at) => targets[at % targets.length]).map((target) => post(body, target?.chain, target?.url)),
    );
    const statuses = answers.map((answer) => (answer.body as { status: string }).status);
    expect(statuses.filter((status) => status === 'ok')).toHaveLength(1);
    expect(answers.filter(({ body: said }) => JSON.stringify(said).includes('duplicate nonce'))).toHaveLength(23);
  });

  it('lie between two days ago and one day ahead', async () => {
    const agent = await newAgent(HERE);
    const now = Date.now();
    for (const nonce of [now - 2 * DAY_MS - 1000, 5])
      expect(await post(await noop(agent, { nonce }))).toMatchObject(
        err(
          expect.stringMatching(
            new RegExp(`^Invalid nonce: nonce too low ${nonce} < \\d+\\. The nonce ${nonce} is \\d+\\.\\d s behind the server's clock`),
          ),
        ),
      );
    expect(await post(await noop(agent, { nonce: now + DAY_MS + 60_000 }))).toMatchObject(
      err(expect.stringContaining('Invalid nonce: nonce too high')),
    );
    expect(await post(await noop(agent, { nonce: now + DAY_MS - 60_000 }))).toMatchObject(DONE);
  });

  it('older than the approval of the agent are dead', async () => {
    const agent = await newAgent(HERE);
    const nonce = Date.now() - 400_000;
    expect(await post(await noop(agent, { nonce }))).toMatchObject(err(expect.stringContaining(`Invalid nonce: nonce too low ${nonce} <`)));
  });

  it('stay valid when another trader approves the wallet as its agent, however far ahead its own nonce is', async () => {
    const [victim, stranger] = [await newMaster(HERE), await newMaster(THERE)];
    const named = await approveAgent(stranger, victim.address, await tagOf(THERE), { nonce: Date.now() + DAY_MS - 60_000 });
    expect(await post(named, THERE)).toMatchObject({ body: { status: 'ok' } });
    const bot = new Wallet(generatePrivateKey());
    expect(await post(await approveAgent(victim, bot.address, await tagOf(HERE)))).toMatchObject({ body: { status: 'ok' } });
    expect(await post(await noop(bot))).toMatchObject(DONE);
  });

  it('are not killed by an approval whose own nonce lies ahead of the clock', async () => {
    const [master, agent] = [await newMaster(HERE), new Wallet(generatePrivateKey())];
    const ahead = await approveAgent(master, agent.address, await tagOf(HERE), { nonce: Date.now() + DAY_MS - 60_000 });
    expect(await post(ahead)).toMatchObject({ body: { status: 'ok' } });
    expect(await post(await noop(agent))).toMatchObject(DONE);
  });

  it('from before a removal stay dead when the wallet approves itself again', async () => {
    const master = await newMaster(HERE);
    const tag = await tagOf(HERE);
    expect(await post(await approveAgent(master, master.address, tag))).toMatchObject({ body: { status: 'ok' } });
    const early = await noop(master);
    expect(await post(await approveAgent(master, '0x0000000000000000000000000000000000000000', tag))).toMatchObject(DONE);
    expect(await post(await approveAgent(master, master.address, tag))).toMatchObject({ body: { status: 'ok' } });
    expect(await post(early)).toMatchObject(err(expect.stringContaining(`Invalid nonce: nonce too low ${early.nonce}`)));
  });

  it('below the hundred highest are dead, because they could have been used', async () => {
    const agent = await newAgent(HERE);
    const base = nextNonce();
    const bodies = await Promise.all(Array.from({ length: 101 }, (_, at) => noop(agent, { nonce: base + at })));
    for (const body of bodies) expect(await post(body)).toMatchObject(DONE);
    const [first, second] = bodies;
    expect(await post(first)).toMatchObject(err(`Invalid nonce: nonce too low ${base} < ${base + 2}`));
    expect(await post(second)).toMatchObject(err(`Invalid nonce: duplicate nonce ${base + 1}`));
    expect(await post(await noop(agent, { nonce: base - 1 }))).toMatchObject(err(`Invalid nonce: nonce too low ${base - 1} < ${base + 2}`));
  });

  it('are not spent by what is refused before', async () => {
    const agent = await newAgent(HERE);
    const nonce = nextNonce();
    const refused = [
      await signL1(agent, { type: 'vaultTransfer', vaultAddress: agent.address, isDeposit: true, usd: 1 }, { nonce }),
      await noop(agent, { nonce, vaultAddress: agent.address.toLowerCase() }),
      await noop(agent, { nonce, expiresAfter: Date.now() - 1000 }),
      await signL1(new Wallet(generatePrivateKey()), { type: 'noop' }, { nonce }),
    ];
    for (const body of refused) await post(body);
    expect(await post(await noop(agent, { nonce }))).toMatchObject(DONE);
  });

  it('come with a count of what is left, of the signer or of the address, whichever is less', async () => {
    const agent = await newAgent(HERE);
    const left = async (): Promise<number[]> => {
      const { headers } = await post(await noop(agent));
      return ['limit', 'remaining'].map((name) => Number(headers.get(`ratelimit-${name}`)));
    };
    const [first, second] = [await left(), await left()];
    expect(first[0]).toBe(AGENT_LIMIT);
    expect(second[0]).toBe(AGENT_LIMIT);
    // Unless the minute ended in between.
    expect([(first[1] ?? 0) - 1, AGENT_LIMIT - 1]).toContain(second[1]);
  });

  it('that are repeated are not charged to the signer: another sender that repeats a body uses up no window', async () => {
    const agent = await newAgent(HERE);
    const body = await noop(agent);
    expect(await post(body)).toMatchObject(DONE);
    for (let times = 0; times < AGENT_LIMIT; times += 1) expect(await post(body)).toMatchObject(duplicate(body));
    const { headers, body: said } = await post(await noop(agent));
    expect(said).toMatchObject(DONE.body);
    // Unless the minute ended in between.
    expect([AGENT_LIMIT - 1, AGENT_LIMIT - 2]).toContain(Number(headers.get('ratelimit-remaining')));
  });

  it('are not asked for where an address comes too often', async () => {
    const { access } = sandbox.config;
    const config = { ...sandbox.config, access: { ...access, limits: { ...access.limits, ip: 1 } } };
    const strict = await startSecondGateway({ ...sandbox, config }, { relays: true });
    const stranger = new Wallet(generatePrivateKey());
    const answers = [];
    for (let times = 0; times < 3; times += 1) answers.push(await post(await signL1(stranger, { type: 'noop' }), HERE, strict.url));
    await strict.stop();
    const refused = answers.find(({ status }) => status === 429);
    expect(refused).toMatchObject({ body: { code: 'RATE_LIMITED', msg: expect.any(String), data: null, details: { scope: 'ip' } } });
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('are not spent by what comes too often; the answer says when to come back', async () => {
    const agent = await newAgent(HERE);
    const tooMany = async () => {
      const bodies = await Promise.all(Array.from({ length: AGENT_LIMIT + 20 }, () => noop(agent)));
      return (await postAll(bodies)).filter(({ answer }) => answer.status === 429);
    };
    const first = await tooMany();
    // A minute may have ended in between; it does not end twice.
    const over = first.length >= 20 ? first : await tooMany();
    expect(over.length).toBeGreaterThanOrEqual(20);
    const refused = over.at(-1);
    expect(refused?.answer).toMatchObject({
      body: { code: 'RATE_LIMITED', msg: expect.any(String), data: null, details: { scope: 'agent' } },
    });
    expect(Number(refused?.answer.headers.get('retry-after'))).toBeGreaterThan(0);
    const rows = await sandbox.gateway.store.signers.claim({
      chain: HERE,
      candidates: [agent.address.toLowerCase() as `0x${string}`],
      nonce: BigInt(refused?.body.nonce ?? 0),
      now: Date.now(),
      count: { window: 0, bucket: 'test', weight: 1, limit: 1, items: 0, itemLimit: 1 },
    });
    expect(rows.nonce).toEqual({ kind: 'taken' });
  });
});

/** A few at a time: what is tested is the limit, not how many connections there can be. */
async function postAll(bodies: readonly ExchangeBody[]): Promise<{ body: ExchangeBody; answer: ExchangeAnswer }[]> {
  const answers = [];
  for (let at = 0; at < bodies.length; at += 10)
    answers.push(...(await Promise.all(bodies.slice(at, at + 10).map(async (body) => ({ body, answer: await post(body) })))));
  return answers;
}
