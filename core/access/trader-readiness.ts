import { encodeFunctionData, formatEther, formatUnits, parseAbi, parseUnits } from 'viem/utils';
import { agentStatus, isInForce, type Agent } from '../domain/agent.js';
import { type Collateral, activeCollaterals, directoryOf } from '../domain/market.js';
import { GatewayError, type TransactionRequest } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { Address } from '../types.js';
import { viewOf, type AgentView } from './agent-status.js';
import { delegationTx } from './delegation.js';
import { traderBehind } from './resolve-trader.js';

export const READINESS_CHECKS = ['agent', 'delegation', 'balance', 'allowance', 'gas', 'market', 'relayer', 'referrer'] as const;
export type ReadinessCheck = (typeof READINESS_CHECKS)[number];

/** The result of one check, with the step or transaction that fixes it. */
export interface ReadinessLine {
  readonly check: ReadinessCheck;
  readonly ok: boolean;
  readonly detail: string;
  readonly fix: { readonly step: string; readonly transaction: TransactionRequest | null } | null;
}

export interface TraderReadiness {
  readonly address: Address;
  readonly trader: Address;
  /** Whether the address can trade through each API. */
  readonly ready: { readonly native: boolean; readonly facade: boolean };
  /** The trading delegate on chain: the one address that trades for the trader. */
  readonly delegate: Address | null;
  /** Agents that are neither revoked nor expired. */
  readonly agents: AgentView[];
  readonly lines: ReadinessLine[];
}

/** The amount of the proposed approval: the wallet's balance, unlimited, or an amount in the collateral's units (`250.5`). */
export type WantedAllowance = 'balance' | 'unlimited' | { readonly amount: string };

interface Facts {
  readonly venue: Venue;
  readonly trader: Address;
  /** Registered, not revoked, not expired. */
  readonly agents: readonly Agent[];
  readonly delegate: Address | null;
  /** The relayer's wallet that serves the trader; null where none does. */
  readonly relayer: Address | null;
  readonly collaterals: readonly (Collateral & { readonly balance: bigint; readonly allowance: bigint })[];
  /** Of the agent that broadcasts; null when there is none. */
  readonly gas: { readonly payer: Address; readonly wei: bigint } | null;
  /** The trader's referrer; the contract keeps the first. */
  readonly referrer: Address | null;
}

const NEEDED: Readonly<Record<'native' | 'facade', readonly ReadinessCheck[]>> = {
  native: ['agent', 'delegation', 'balance', 'allowance', 'gas', 'market'],
  facade: ['agent', 'balance', 'allowance', 'market', 'relayer'],
};

/** Whether the address can trade, and which steps are missing. Public facts only; an agent's address is resolved to its trader. */
export async function traderReadiness(
  gateway: Gateway,
  venue: Venue,
  address: Address,
  allowance: WantedAllowance = 'balance',
): Promise<TraderReadiness> {
  const facts = await gather(gateway, venue, address);
  const lines = [
    agentLine(facts),
    delegationLine(facts),
    balanceLine(facts),
    allowanceLine(facts, allowance),
    gasLine(facts),
    marketLine(facts),
    relayerLine(facts),
    referrerLine(facts),
  ];
  const holds = (checks: readonly ReadinessCheck[]): boolean => lines.every(({ check, ok }) => ok || !checks.includes(check));
  const ready = { native: holds(NEEDED.native), facade: holds(NEEDED.facade) };
  return { address, trader: facts.trader, ready, delegate: facts.delegate, agents: agentViews(facts), lines };
}

const agentViews = ({ agents, delegate, relayer, venue }: Facts): AgentView[] =>
  agents.map((agent) => viewOf(agent, agentStatus(agent, agent.mode === 'self' ? agent.agent : relayer, delegate, venue.clock.now())));

async function gather({ store, clock }: Gateway, venue: Venue, address: Address): Promise<Facts> {
  const { slug } = venue.definition;
  const registered = await store.access.findAgent(slug, address);
  const trader = await traderBehind({ store }, venue, address);
  const known = trader === address ? await store.access.listAgents(slug, trader) : registered === null ? [] : [registered];
  const agents = known.filter((agent) => isInForce(agent, clock.now()));
  const active = activeCollaterals(venue.feed.config());
  try {
    const [relayer, delegate, { tokens }, referrer] = await Promise.all([
      venue.relayer?.walletFor(trader) ?? null,
      venue.chain.delegateOf(trader),
      venue.chain.accountFacts(
        trader,
        active.map((token) => token.address),
      ),
      venue.chain.referrerOf(trader),
    ]);
    const payer = agents.find(({ agent, mode }) => mode === 'self' && (agent === delegate || agent === trader))?.agent ?? null;
    const gas = payer === null ? null : { payer, wei: await venue.chain.nativeBalance(payer) };
    const collaterals = active.map((token, position) => ({ ...token, balance: 0n, allowance: 0n, ...tokens[position] }));
    return { venue, trader, agents, delegate, relayer, collaterals, gas, referrer };
  } catch (error) {
    throw new GatewayError('UPSTREAM_UNAVAILABLE', { upstream: 'chain node' }, { cause: error });
  }
}

const APPROVE = parseAbi(['function approve(address spender, uint256 amount) returns (bool)']);
const UNLIMITED = 2n ** 256n - 1n;

type Fix = ReadinessLine['fix'];
const line = (check: ReadinessCheck, ok: boolean, detail: string, fix: Fix): ReadinessLine => ({ check, ok, detail, fix: ok ? null : fix });
const step = (sentence: string, transaction: TransactionRequest | null = null): Fix => ({ step: sentence, transaction });

function agentLine({ agents, venue }: Facts): ReadinessLine {
  const detail = agents.length === 0 ? 'No agent is authorised.' : `Authorised: ${agents.map(({ agent }) => agent).join(', ')}.`;
  return line(
    'agent',
    agents.length > 0,
    detail,
    step(`Let the trader sign an AgentAuthorization and send it to POST /v1/${venue.definition.slug}/agents.`),
  );
}

function delegationLine({ agents, delegate, trader, venue }: Facts): ReadinessLine {
  const ok = agents.some(({ agent, mode }) => mode === 'self' && (agent === trader || agent === delegate));
  const [first] = agents.filter(({ mode }) => mode === 'self');
  const detail = delegate === null ? 'The trader has no trading delegate.' : `The trading delegate is ${delegate}.`;
  const fix = first
    ? step('Let the trader send this transaction.', delegationTx(venue.definition, first.agent))
    : step('Authorise an agent first.');
  return line('delegation', ok, ok && delegate === null ? 'The agent is the trader itself.' : detail, fix);
}

const amounts = (collaterals: Facts['collaterals'], of: 'balance' | 'allowance'): string =>
  collaterals
    .map((token) => `${token[of] === UNLIMITED ? 'unlimited' : formatUnits(token[of], token.decimals)} ${token.symbol}`)
    .join(', ');

function balanceLine({ collaterals, trader }: Facts): ReadinessLine {
  const ok = collaterals.some(({ balance }) => balance > 0n);
  return line(
    'balance',
    ok,
    `The trader holds ${amounts(collaterals, 'balance')}.`,
    step(`Send collateral (${collaterals.map(({ symbol }) => symbol).join(' or ')}) to ${trader}.`),
  );
}

function allowanceLine({ collaterals, venue: { definition } }: Facts, allowance: WantedAllowance): ReadinessLine {
  const ok = collaterals.some(
    (token) => token.allowance > 0n && (token.balance > 0n || collaterals.every(({ balance }) => balance === 0n)),
  );
  const wanted = collaterals.find(({ balance }) => balance > 0n) ?? collaterals.find(({ symbol }) => symbol === 'USDC') ?? collaterals[0];
  const amount = wanted ? amountOf(wanted, allowance) : 0n;
  const data = encodeFunctionData({ abi: APPROVE, functionName: 'approve', args: [definition.diamond, amount] });
  const transaction = wanted && amount > 0n ? { to: wanted.address, data, chainId: definition.chainId } : null;
  return line(
    'allowance',
    ok,
    `The Diamond may take ${amounts(collaterals, 'allowance')}.`,
    transaction === null
      ? step('Fund the trader first, or ask again with ?allowance=<amount>: the proposed allowance is the balance.')
      : step('Let the trader send this transaction, or ask for another amount with ?allowance=<amount>|unlimited.', transaction),
  );
}

function amountOf({ balance, decimals }: Facts['collaterals'][number], allowance: WantedAllowance): bigint {
  if (allowance === 'balance') return balance;
  if (allowance === 'unlimited') return UNLIMITED;
  const [, fraction = ''] = allowance.amount.split('.');
  if (fraction.length > decimals)
    throw new GatewayError('VALIDATION_ERROR', { issues: [{ path: 'allowance', message: `must have at most ${decimals} decimals` }] });
  return parseUnits(allowance.amount, decimals);
}

function gasLine({ gas, venue: { definition } }: Facts): ReadinessLine {
  if (gas === null) return line('gas', false, 'No agent could broadcast.', step('Authorise and delegate an agent first.'));
  return line(
    'gas',
    gas.wei > 0n,
    `The agent holds ${formatEther(gas.wei)} ${definition.nativeSymbol}.`,
    step(`Send a little ${definition.nativeSymbol} to ${gas.payer}.`),
  );
}

function marketLine({ venue }: Facts): ReadinessLine {
  const { pairs } = directoryOf(venue.feed.config());
  const open = pairs.filter(({ index }) => venue.feed.session(index, venue.clock.now()) === 'open').length;
  return line('market', open > 0, `${open} of ${pairs.length} markets are open.`, step('Wait until trading is resumed.'));
}

/** What only the facade needs: a relayer, an agent approved there, and the relayer as the trader's delegate. */
function relayerLine({ venue: { definition }, agents, delegate, relayer }: Facts): ReadinessLine {
  if (relayer === null)
    return line(
      'relayer',
      false,
      `No relayer serves the facade on ${definition.slug}.`,
      step('Trade through the native API, or ask the operator for a relayer.'),
    );
  const isApproved = agents.some(({ mode }) => mode === 'relayed');
  const holder = delegate === null ? 'The trader has no trading delegate' : `The trading delegate is ${delegate}`;
  const fix = isApproved
    ? step('Let the trader send this transaction.', delegationTx(definition, relayer))
    : step(`Let the trader sign an approveAgent and send it to POST /hl/${definition.slug}/exchange.`);
  return line(
    'relayer',
    isApproved && delegate === relayer,
    `${holder}; the relayer is ${relayer}, and ${isApproved ? 'an' : 'no'} agent is approved on the facade.`,
    fix,
  );
}

/** Always ok; informs traders which referrer their fees will reward. */
function referrerLine({ referrer, venue }: Facts): ReadinessLine {
  return line(
    'referrer',
    true,
    referrer === null ? futureReferrer(venue) : `The referrer of the trader is ${referrer}, and stays so.`,
    null,
  );
}

function futureReferrer({ referrers: { relayed, native }, state: { facts } }: Venue): string {
  const named = [
    ...(relayed === null ? [] : [`an opening through the facade makes ${relayed} the referrer`]),
    ...(native === null ? [] : [`one through the native API that names none makes it ${native}`]),
  ];
  if (named.length === 0) return 'The trader has no referrer, and none is named unless an order names one.';
  const ignored = facts?.unlisted ?? [];
  const without = ignored.length === 0 ? '' : ` The protocol has not whitelisted ${ignored.join(', ')}, and ignores it.`;
  return `The trader has no referrer: ${named.join('; ')}. The contracts keep the first.${without}`;
}
