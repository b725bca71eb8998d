import type { Hex, Market, Price } from '@diamond-gateway/client/api';
import { createClient } from '@diamond-gateway/client';
import { bytesToHex } from 'viem/utils';
import { request, type Problem } from '../api/request.js';
import { formatUpTo, shortAddress } from '../ui/format.js';
import { clockOffset, exchange } from './agent-wish.js';
import type { Desk } from './desk.js';
import { fillOf, refusal } from './fill-of.js';
import { signedAction } from './l1-action.js';
import { boundPrice, collateralFor, sizeFor, takesDollars, withTenth } from './order-amounts.js';
import { rpcOf } from './session.js';
import { take, type Report } from './steps.js';

export interface OrderWish {
  /** `BTC/USD`. */
  readonly market: string;
  readonly side: 'long' | 'short';
  /** Value of the position. */
  readonly usd: string;
  readonly leverage: string;
}

/** A step of the order that lies behind; the last one is the fill. */
export interface Passed {
  readonly title: string;
  readonly detail: string;
}

const priceOf = async (base: string, market: string): Promise<string> => {
  const { data } = take(await request<{ data: readonly Price[] }>(`${base}/prices`));
  const found = data.find((price) => price.market === market);
  if (found === undefined) throw new Error(`There is no price of ${market}.`);
  return found.mark;
};

type Note = (passed: Passed) => void;

/** Prepared by the gateway, checked against what was asked for and the wallet's node, signed here, broadcast through the wallet's node. */
export async function placeNative(
  desk: Desk,
  market: Market,
  wish: OrderWish,
  key: Hex,
  note: Note,
  report: Report,
): Promise<{ text: string }> {
  const { page, chain, session } = desk;
  const client = createClient({
    url: location.origin,
    chain,
    agent: key,
    trader: session.address,
    rpc: rpcOf(session),
    headerPrefix: page.facts.headerPrefix,
  });
  report({ kind: 'working', text: 'The gateway checks and prepares the order…' });
  const price = await priceOf(page.base, market.symbol);
  const size = sizeFor(wish.usd, price, market.sizePrecision);
  // The gateway's prices alone must not decide what is taken: the person has seen an amount, and that is the bound.
  const limits = takesDollars(market) ? { maxCollateral: withTenth(collateralFor(wish.usd, wish.leverage)) } : { price };
  const prepared = await client.prepare(
    'createOrder',
    { market: market.symbol, side: wish.side, type: 'market', size, leverage: wish.leverage },
    { limits },
  );
  note({ title: 'Prepared', detail: `${wish.side} ${size} ${market.base} at ${wish.leverage}×, simulated on the chain.` });
  report({ kind: 'working', text: 'Checking the transaction before it is signed…' });
  const { calls } = await client.verify(prepared);
  note({
    title: 'Verified',
    detail: `The transaction does what was asked for and nothing else: ${calls.map(({ functionName }) => functionName).join(', ')} on the Diamond ${shortAddress(chain.diamond)}.`,
  });
  report({ kind: 'working', text: 'The agent signs and sends…' });
  const sent = await client.send(prepared);
  note({ title: 'Sent', detail: `By the agent itself: ${sent.hash ?? 'nothing to send'}.` });
  report({ kind: 'working', text: 'Waiting for the oracle…' });
  const order = await client.wait(sent);
  if (order?.fill === null || order === null)
    throw new Error(`The order is ${order?.status ?? 'gone'}${order?.reason === null ? '' : `: ${order?.reason ?? ''}`}.`);
  note({
    title: 'Filled',
    detail: `${formatUpTo(order.fill.size, 8)} ${market.base} at ${formatUpTo(order.fill.price, market.pricePrecision)}.`,
  });
  return { text: 'Your first fill through the native API.' };
}

interface MetaAndContexts {
  readonly universe: readonly { readonly name: string; readonly szDecimals: number }[];
}
interface Status {
  readonly filled?: { readonly totalSz: string; readonly avgPx: string };
  readonly resting?: { readonly oid: number | Hex };
  readonly error?: string;
}

/** The very request that a Hyperliquid bot sends: hashed, signed by the agent's key in this page. */
export async function placeHyperliquid(
  { page, info, session }: Desk,
  wish: OrderWish,
  key: Hex,
  note: Note,
  report: Report,
): Promise<{ text: string }> {
  report({ kind: 'working', text: 'Reading the markets of the Hyperliquid API…' });
  const ask = { method: 'POST', body: { type: 'metaAndAssetCtxs' } } as const;
  const [{ universe }, contexts] = take(
    await request<readonly [MetaAndContexts, readonly { readonly markPx: string }[]]>(`${page.hl}/info`, ask),
  );
  const name = coinOf(wish.market, universe);
  const asset = universe.findIndex((one) => one.name === name);
  const [row, context] = [universe[asset], contexts[asset]];
  if (row === undefined || context === undefined) throw new Error(`The Hyperliquid API has no market ${wish.market}.`);
  const isBuy = wish.side === 'long';
  const cloid = bytesToHex(crypto.getRandomValues(new Uint8Array(16)));
  const size = sizeFor(wish.usd, context.markPx, row.szDecimals);
  const order = {
    a: asset,
    b: isBuy,
    p: boundPrice(context.markPx, isBuy, row.szDecimals),
    s: size,
    r: false,
    t: { limit: { tif: 'Ioc' } },
    c: cloid,
  };
  note({ title: 'Asked for', detail: `${isBuy ? 'buy' : 'sell'} ${size} ${name}, at ${order.p} or better, at once.` });
  const nonce = Date.now() + (await clockOffset(page.base));
  const body = await signedAction(key, { type: 'order', orders: [order], grouping: 'na' }, nonce, info.testnet);
  note({ title: 'Signed', detail: 'By the agent’s key in this page. The signature is sent, the key is not.' });
  report({ kind: 'working', text: 'The relayer sends it; waiting for the oracle…' });
  const answer = (await exchange(page.hl, body).catch(nothingIfLost)) as { data: { statuses: readonly (Status | string)[] } } | null;
  const [status] = answer === null ? [{ resting: { oid: cloid } }] : answer.data.statuses;
  if (typeof status !== 'object' || status.error !== undefined) throw refusal(typeof status === 'object' ? status.error : status);
  const filled = status.filled ?? (await fillOf(page.hl, session.address, status.resting?.oid ?? cloid));
  note({ title: 'Filled', detail: `${filled.totalSz} ${name} at ${formatUpTo(filled.avgPx, 10)}.` });
  return { text: 'Your first fill through the Hyperliquid API.' };
}

/** An answer that was lost leaves open whether the order was placed, so it is looked for instead of called a failure. */
function nothingIfLost(error: unknown): null {
  if ((error as { problem?: Problem }).problem?.status === 0) return null;
  throw error;
}

/** `BTC`, `kPEPE` against USD; `EURUSD` for forex and crosses. The coin alone never stands for a cross: it would be another market. */
const coinOf = (market: string, universe: MetaAndContexts['universe']): string | undefined => {
  const [base = '', quote = ''] = market.split('/').map((part) => part.toUpperCase().replace(/[^A-Z0-9]/g, ''));
  const names = [`${base}${quote}`, `k${base}${quote}`, ...(quote === 'USD' ? [base, `k${base}`] : [])];
  return names.find((name) => universe.some((one) => one.name === name));
};
