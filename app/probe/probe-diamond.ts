import { decodeFunctionResult, encodeFunctionData, numberToHex } from 'viem';
import type { ContractFunctionName, Hex } from 'viem';
import { diamondAbi } from '../../core/adapters/evm/diamond-abi.js';
import { CHECKED_BLOCKS, readEvents } from '../../core/adapters/evm/diamond-checks.js';
import { isWriteName, USED_SELECTORS, WRITE_FUNCTIONS } from '../../core/chains/diamond-functions.js';
import type { MarketConfig } from '../../core/domain/market.js';
import { NO_REFERRERS, referrersOf } from '../../core/trading/order-variables.js';
import { NodeRefusal, type AskNode, type ChainConfig, type GoodNode } from './probe-node.js';
import { differs, few, judge, ok, type Looker, type Outcome } from './look.js';

/** Checks the contract through the first good node. `backend` resolves to the backend's parameters of the same chain. */
export async function probeDiamond(
  look: Looker,
  { chain, referrers = NO_REFERRERS }: ChainConfig,
  node: GoodNode | null,
  backend: Promise<MarketConfig | null>,
): Promise<void> {
  const { diamond } = chain;
  const verdict = await look({
    check: 'code',
    expected: `a contract at ${diamond}`,
    run: async () => {
      if (node === null) throw new Error('no node of this chain answered');
      const code = String(await node.ask.one('eth_getCode', [diamond, 'latest']));
      return judge(code.length > 2, code.length > 2 ? `${(code.length - 2) / 2} bytes` : 'nothing');
    },
  });
  if (node === null || verdict !== 'ok') return;
  await lookAtSelectors(look, node.ask, diamond);
  await Promise.all([
    lookAtCounts(look, node.ask, diamond, backend),
    lookAtEvents(look, node, diamond),
    ...referrersOf(referrers).map((referrer) => lookAtReferrer(look, node.ask, diamond, referrer)),
  ]);
}

const lookAtReferrer = (look: Looker, ask: AskNode, diamond: Hex, referrer: Hex) =>
  look({
    check: 'referrer',
    expected: `the protocol has whitelisted ${referrer}`,
    run: async () => {
      const asked = { abi: diamondAbi, functionName: 'getReferrerDetails' } as const;
      const data = await ask.call(diamond, encodeFunctionData({ ...asked, args: [referrer] }));
      const { active } = decodeFunctionResult({ ...asked, data });
      return judge(active, active ? 'whitelisted' : 'not whitelisted: it earns nothing');
    },
  });

const lookAtSelectors = (look: Looker, ask: AskNode, diamond: Hex) =>
  look({
    check: 'functions',
    expected: `all ${USED_SELECTORS.size} that the gateway calls are served`,
    timeoutMs: 15_000,
    run: async () => {
      const [missing, names] = [[] as string[], [...USED_SELECTORS]];
      for (let at = 0; at < names.length; at += AT_ONCE)
        await Promise.all(
          names.slice(at, at + AT_ONCE).map(async ([name, selector]) => {
            if (!(await isServed(ask, diamond, selector)))
              missing.push(isWriteName(name) ? `${name} (${WRITE_FUNCTIONS[name].turnsOff})` : name);
          }),
        );
      return judge(missing.length === 0, missing.length === 0 ? `all ${names.length}` : `missing: ${few(missing.sort(), 20)}`);
    },
  });

/** Single calls: batches are checked elsewhere. */
const AT_ONCE = 8;

async function isServed(ask: AskNode, diamond: Hex, selector: Hex): Promise<boolean> {
  const data = encodeFunctionData({ abi: diamondAbi, functionName: 'facetAddress', args: [selector] });
  return BigInt((await ask.call(diamond, data)).padEnd(3, '0')) !== 0n;
}

type CountName = Extract<ContractFunctionName<typeof diamondAbi, 'view'>, 'pairsCount' | 'groupsCount' | 'feesCount'>;

const lookAtCounts = async (look: Looker, ask: AskNode, diamond: Hex, backend: Promise<MarketConfig | null>) => {
  const config = await backend;
  const said = config && countsText(config.pairs.length, config.groups.length, config.fees.length, config.collaterals.length);
  return look({
    check: 'markets',
    expected: said === null ? 'markets and collaterals' : `as the backend says: ${said}`,
    run: async (): Promise<Outcome> => {
      const count = async (functionName: CountName): Promise<number> =>
        Number(BigInt(await ask.call(diamond, encodeFunctionData({ abi: diamondAbi, functionName }))));
      const data = await ask.call(diamond, encodeFunctionData({ abi: diamondAbi, functionName: 'getCollaterals' }));
      const collaterals = decodeFunctionResult({ abi: diamondAbi, functionName: 'getCollaterals', data });
      const [pairs, groups, fees] = await Promise.all([count('pairsCount'), count('groupsCount'), count('feesCount')]);
      const found = countsText(pairs, groups, fees, collaterals.length);
      const active = collaterals.filter(({ isActive }) => isActive).length;
      return judge(said === null ? pairs > 0 && active > 0 : found === said, `${found}, ${active} of them active`);
    },
  });
};

const countsText = (pairs: number, groups: number, fees: number, collaterals: number): string =>
  `${pairs} pairs, ${groups} groups, ${fees} fee rows, ${collaterals} collaterals`;

const lookAtEvents = (look: Looker, { ask, head, logRange }: GoodNode, diamond: Hex) => {
  const wanted = logRange < CHECKED_BLOCKS ? logRange : CHECKED_BLOCKS;
  return look({
    check: 'events',
    expected: `those of the last ${wanted} blocks that we know can be read`,
    run: async (): Promise<Outcome> => {
      if (wanted === 0n) throw new Error('the node gives no logs');
      const range = { address: diamond, fromBlock: numberToHex(head - wanted + 1n), toBlock: numberToHex(head) };
      const logs = await ask.one('eth_getLogs', [range]);
      if (!Array.isArray(logs)) throw new NodeRefusal('its logs are no list');
      return eventsOutcome(logs);
    },
  });
};

function eventsOutcome(logs: readonly unknown[]): Outcome {
  const { read, broken, unknown } = readEvents(logs as Parameters<typeof readEvents>[0]);
  const others = unknown.size === 0 ? '' : `; ${unknown.size} kinds of others`;
  if (broken.length > 0) return differs(`cannot be read: ${few([...broken])}${others}`);
  // No known event among many: then these are events of another release.
  if (read.size === 0 && unknown.size > MANY) return differs(`none that we know, ${unknown.size} kinds of others`);
  return ok(read.size === 0 ? `none${others}` : `${few([...read].map(([name, times]) => `${name} ${times}`))}${others}`);
}

const MANY = 5;
