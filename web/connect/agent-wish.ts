import type { Hex, ScopeRequest } from '@diamond-gateway/client/api';
import { agentFromKey } from '@diamond-gateway/client/agent';
import { agentRequest, masterTypedData } from '@diamond-gateway/client/master';
import { request } from '../api/request.js';
import { formatUtc } from '../ui/format.js';
import { agentsOf, checkAgain, sameAddress, type Desk, type Api } from './desk.js';
import { approvalBody, approvalTypedData } from './l1-action.js';
import { signTypedData } from './session.js';
import { take, type Report } from './steps.js';

/** What the trader entered about an agent that is to be made. */
export interface AgentWish {
  readonly name: string;
  /** Days; null = no expiry. */
  readonly days: number | null;
  /** `BTC/USD, ETH/USD`; empty = all. */
  readonly markets: string;
  readonly maxLeverage: string;
  readonly dailyCapUsd: string;
  readonly permissions: 'trade' | 'read';
}

export const NEW_WISH: AgentWish = { name: 'my bot', days: 30, markets: '', maxLeverage: '', dailyCapUsd: '', permissions: 'trade' };

const DAY_MS = 86_400_000;
const NAME_LENGTH: Readonly<Record<Api, number>> = { native: 32, hyperliquid: 16 };
const POSITIVE = /^(?:0|[1-9]\d{0,14})(?:\.\d{1,10})?$/;
const MARKET = /^[A-Za-z0-9.]{1,15}[-/][A-Za-z0-9]{1,10}$/;

const marketsOf = (text: string): string[] => text.split(/[\s,]+/).filter((one) => one !== '');

/** An approval of an agent names its deployment by this prefix, or it could be a copy of one made for Hyperliquid. */
export const nameFor = ({ info }: Pick<Desk, 'info'>, api: Api, { name }: AgentWish): string =>
  api === 'native' ? name : `${info.agentNameTag ?? ''}${name.slice(0, NAME_LENGTH.hyperliquid - (info.agentNameTag ?? '').length)}`;

/** The first field that cannot be signed like this; null when all can. */
export function faultOf(api: Api, { name, markets, maxLeverage, dailyCapUsd }: AgentWish): string | null {
  if (name.length > NAME_LENGTH.native) return `A name has at most ${NAME_LENGTH.native} characters.`;
  if (api === 'hyperliquid') return null;
  const odd = marketsOf(markets).find((one) => !MARKET.test(one));
  if (odd !== undefined) return `${odd} is no market: write them as BTC/USD, ETH/USD.`;
  if (maxLeverage !== '' && !(POSITIVE.test(maxLeverage) && /[1-9]/.test(maxLeverage)))
    return 'The highest leverage is a number such as 20.';
  if (dailyCapUsd !== '' && !POSITIVE.test(dailyCapUsd)) return 'The daily limit is an amount in USD such as 500.';
  return null;
}

export function scopeOf({ markets, maxLeverage, dailyCapUsd, permissions }: AgentWish, expiresAt: number | null): ScopeRequest {
  const named = marketsOf(markets).map((one) => one.toUpperCase().replace('-', '/'));
  return {
    markets: named.length === 0 ? 'all' : named,
    maxLeverage: maxLeverage === '' ? null : maxLeverage,
    dailySpendCapUsd: dailyCapUsd === '' ? null : dailyCapUsd,
    expiresAt,
    permissions,
  };
}

export const expiryOf = ({ days }: Pick<AgentWish, 'days'>, now: number): number | null => (days === null ? null : now + days * DAY_MS);

/** What the signature allows, in plain words. */
export function allows(api: Api, wish: AgentWish): readonly string[] {
  const until = wish.days === null ? 'until you revoke it' : `until ${formatUtc(Date.now() + wish.days * DAY_MS)}`;
  if (api === 'native' && wish.permissions === 'read') return [`It can read this account’s orders, positions and fills, ${until}.`];
  const where = api === 'native' && wish.markets !== '' ? `on ${marketsOf(wish.markets).join(', ').toUpperCase()} only` : 'on all markets';
  return [
    `It can place, change and cancel orders and close positions ${where}, ${until}.`,
    ...(api === 'native' && wish.maxLeverage !== '' ? [`At most ${wish.maxLeverage}× leverage.`] : []),
    ...(api === 'native' && wish.dailyCapUsd !== '' ? [`At most $${wish.dailyCapUsd} of new collateral a day.`] : []),
  ];
}

export const FORBIDS = 'It cannot withdraw, transfer or approve funds. What a trade returns goes to your wallet.';

/** Has the wallet sign, and registers the agent. The key signs its consent here and is not sent. */
export async function registerAgent(desk: Desk, api: Api, wish: AgentWish, key: Hex, report: Report): Promise<{ text: string }> {
  await (api === 'native' ? registerNative : approve)(desk, wish, key, report);
  const { address } = agentFromKey(key);
  report({ kind: 'working', text: 'Registered. Checking the line again.' });
  await checkAgain(desk, (found) => agentsOf(found, api).some(({ agent }) => sameAddress(agent, address)));
  return { text: 'The agent is registered, and the line was checked again. Next: set the delegate, above.' };
}

async function registerNative({ page, chain, info, session }: Desk, wish: AgentWish, key: Hex, report: Report): Promise<void> {
  const agent = agentFromKey(key);
  const timestamp = Date.now() + (await clockOffset(page.base));
  const asked = {
    type: 'AgentAuthorization',
    timestamp,
    agent: agent.address,
    name: nameFor({ info }, 'native', wish),
    scope: scopeOf(wish, expiryOf(wish, timestamp)),
  } as const;
  const data = masterTypedData({ serviceName: info.signing.domain.name, chain }, asked);
  report({ kind: 'wallet', text: 'sign the AgentAuthorization. It costs nothing and moves nothing.' });
  const signature = await signTypedData(session, data);
  const body = { ...agentRequest(asked, { trader: session.address, signature }), agentSignature: await agent.signTypedData(data) };
  report({ kind: 'working', text: 'Registering the agent…' });
  take(await request(`${page.base}/agents`, { method: 'POST', body }));
}

async function approve({ page, info, session }: Desk, wish: AgentWish, key: Hex, report: Report): Promise<void> {
  const nonce = Date.now() + (await clockOffset(page.base));
  const until = expiryOf(wish, nonce);
  const name = `${nameFor({ info }, 'hyperliquid', wish)}${until === null ? '' : ` valid_until ${until}`}`;
  const approval = { agent: agentFromKey(key).address, name, nonce, chainId: info.chainId, isTestnet: info.testnet };
  report({ kind: 'wallet', text: 'sign the approveAgent. It costs nothing and moves nothing.' });
  const signature = await signTypedData(session, approvalTypedData(approval));
  report({ kind: 'working', text: 'Sending the approval…' });
  await exchange(page.hl, approvalBody(approval, signature));
}

/** What is signed carries the gateway's time: a clock that is off by a minute would be refused. */
export async function clockOffset(base: string): Promise<number> {
  const before = Date.now();
  const answer = await request<{ serverTime: number }>(base);
  return answer.ok ? answer.data.serverTime - Math.round((before + Date.now()) / 2) : 0;
}

/** An order is answered when the oracle has answered, or when the gateway gives up waiting for it. */
const EXCHANGE_MS = 60_000;

/** `POST /exchange`: refusals are answered with 200 and a status in the body. */
export async function exchange(hl: string, body: object): Promise<unknown> {
  const options = { method: 'POST', body, timeoutMs: EXCHANGE_MS } as const;
  const reply = take(await request<{ status: string; response: unknown }>(`${hl}/exchange`, options));
  if (reply.status === 'ok') return reply.response;
  throw Object.assign(new Error(), {
    problem: { status: 200, code: 'REFUSED', message: String(reply.response), details: {}, requestId: null, retryAfterSeconds: null },
  });
}
