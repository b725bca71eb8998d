import type { Hex } from '@diamond-gateway/client/api';
import { request } from '../api/request.js';

export const refusal = (text = 'The order was not filled.'): Error =>
  Object.assign(new Error(text), {
    problem: { status: 200, code: 'REFUSED', message: text, details: {}, requestId: null, retryAfterSeconds: null },
  });

interface Fill {
  readonly oid: number;
  readonly px: string;
  readonly sz: string;
}

const PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));
const TRIES = 240;

interface Found {
  readonly order?: { readonly status: string; readonly order: { readonly oid: number } };
}

/**
 * An answer that could not wait for the oracle calls the order resting, and an answer that was lost says nothing: what became of the order
 * is asked for like a bot would, by its id or by the client's own.
 */
export async function fillOf(hl: string, user: Hex, oid: number | Hex): Promise<{ readonly totalSz: string; readonly avgPx: string }> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const ask = (type: string) => ({ method: 'POST', body: { type, user, oid } }) as const;
    // The order is sent: a question that fails is asked again, and never makes the person send it twice.
    const found = await request<Found>(`${hl}/info`, ask('orderStatus'));
    const order = found.ok ? found.data.order : undefined;
    const status = order?.status ?? 'open';
    if (status === 'filled') {
      const fills = await request<readonly Fill[]>(`${hl}/info`, { method: 'POST', body: { type: 'userFills', user } });
      const fill = fills.ok ? fills.data.find((one) => one.oid === order?.order.oid) : undefined;
      if (fill !== undefined) return { totalSz: fill.sz, avgPx: fill.px };
    } else if (status !== 'open') throw refusal(`The order is ${status}.`);
    await pause(found.ok ? PAUSE_MS : Math.max(PAUSE_MS, Math.min((found.problem.retryAfterSeconds ?? 0) * 1_000, LONGEST_PAUSE_MS)));
  }
  throw refusal(`Order ${oid} has no outcome yet. It goes on without this page; the account page shows it.`);
}
