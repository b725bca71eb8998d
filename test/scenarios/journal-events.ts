import type { AgentTrader, Json } from '../harness/traders/agent-trader.js';

export interface JournalEvent {
  readonly cursor: number;
  readonly kind: string;
  readonly data: Json;
}

/** What the account's journal says after the cursor, page by page. */
export async function eventsAfter(agent: AgentTrader, after: number, limit = 500): Promise<JournalEvent[]> {
  const events: JournalEvent[] = [];
  for (let next: number | null = after; next !== null;) {
    const path = `/account/${agent.trader.account.address}/events?after=${next}&limit=${limit}`;
    const { status, body } = await agent.call('listEvents', 'GET', path);
    if (status !== 200) throw new Error(`the journal answered ${status}: ${JSON.stringify(body)}`);
    events.push(...(body['data'] as JournalEvent[]));
    next = body['nextCursor'] as number | null;
  }
  return events;
}

/** The moves of an order, as its owner's journal has them. */
export function movesOf(events: readonly JournalEvent[], id: string): string[] {
  const statuses = events.filter(({ kind, data }) => kind === 'order' && data['id'] === id).map(({ data }) => String(data['status']));
  return statuses.map((status, at) => `${statuses[at - 1] ?? '-'} → ${status}`);
}
