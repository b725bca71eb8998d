import { signal, type ReadonlySignal } from '@preact/signals';
import { request, type Problem } from '../api/request.js';
import { loaded, LOADING, type Load } from '../api/resource.js';
import type { Link, StreamMessage, StreamProblem } from '../api/socket.js';
import { createJournal, type Journal } from './journal-model.js';
import { createPagedRows, type PagedRows } from './paged-rows.js';
import type { Account, Fill, Order, OrderTimeline, Position } from './types.js';

/** Everything that the page knows of one account: live by the stream, history by requests. */
export interface AccountModel {
  readonly account: ReadonlySignal<Load<Account>>;
  readonly positions: ReadonlySignal<Load<readonly Position[]>>;
  readonly orders: PagedRows<Order>;
  readonly fills: PagedRows<Fill>;
  readonly journal: Journal;
  readTimeline(id: string, abort: AbortSignal): ReturnType<typeof request<OrderTimeline>>;
  close(): void;
}

export const isOpen = ({ status }: Pick<Order, 'status'>): boolean => ['prepared', 'pending', 'open', 'timed_out'].includes(status);

const PAGE = 50;

export interface Reader {
  readonly trader: string;
  readonly apiKey: string;
  /** Of the header that carries the key; a deployment may have a prefix of its own. */
  readonly headerPrefix: string;
}

export function openAccount(link: Link, base: string, { trader, apiKey, headerPrefix }: Reader): AccountModel {
  const ended = new AbortController();
  const account = signal<Load<Account>>(LOADING);
  const positions = signal<Load<readonly Position[]>>(LOADING);
  const headers = { [`${headerPrefix}Api-Key`]: apiKey };
  const own = `${base}/account/${trader}`;
  const read = <Data>(path: string, abort: AbortSignal) => request<Data>(path, { headers, signal: abort });
  const page = (path: string) => (cursor: string | null, abort: AbortSignal) =>
    read<never>(`${own}${path}?limit=${PAGE}${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`, abort);

  const orders = createPagedRows<Order>(
    {
      read: page('/orders/history'),
      keyOf: ({ id }) => id,
      versionOf: ({ updatedAt }) => updatedAt,
      compare: (first, second) => second.createdAt - first.createdAt || Number(second.id) - Number(first.id),
    },
    ended.signal,
  );
  const fills = createPagedRows<Fill>(
    {
      read: page('/fills'),
      keyOf: ({ id }) => String(id),
      versionOf: () => 0,
      compare: (first, second) => second.timestamp - first.timestamp || second.id - first.id,
    },
    ended.signal,
  );
  const journal = createJournal((after, limit, abort) => read(`${own}/events?after=${after}&limit=${limit}`, abort), ended.signal);

  const follow = ({ cursor }: StreamMessage): void => {
    if (cursor !== undefined) journal.reached(cursor);
  };
  const state = <Data>(target: { value: Load<Data>; peek(): Load<Data> }) => ({
    onMessage(message: StreamMessage<Data>) {
      target.value = loaded(message.data);
      follow(message);
    },
    onProblem: (problem: StreamProblem) => void (target.value = { ...target.peek(), problem: problemOf(problem) }),
  });
  const rows = <Row>(list: PagedRows<Row>) => ({
    onMessage(message: StreamMessage<Row | readonly Row[] | null>) {
      const { data, id } = message;
      if (data === null) list.remove(String(id));
      else list.put(Array.isArray(data) ? (data as readonly Row[]) : [data as Row]);
      follow(message);
    },
  });
  const stops = [
    link.subscribe({ channel: 'account' }, state(account)),
    link.subscribe({ channel: 'positions' }, state(positions)),
    link.subscribe({ channel: 'orders' }, rows(orders)),
    link.subscribe({ channel: 'fills' }, rows(fills)),
  ];
  return {
    account,
    positions,
    orders,
    fills,
    journal,
    readTimeline: (id, abort) => read<OrderTimeline>(`${base}/orders/${id}/timeline`, abort),
    close() {
      ended.abort();
      for (const stop of stops) stop();
    },
  };
}

/** A problem of the stream has no request of its own. */
export const problemOf = ({ code, message, details }: StreamProblem): Problem => ({
  status: 0,
  code,
  message,
  details,
  requestId: null,
  retryAfterSeconds: null,
});
