import { useSignal } from '@preact/signals';
import type { Problem } from '../api/request.js';
import type { Resource } from '../api/resource.js';
import { Panel, ProblemNote } from '../ui/panel.js';
import { Table, type Column } from '../ui/table.js';
import { Ago, Chip } from '../ui/values.js';
import { useOperator } from './operator-api.js';
import type { Alert, Alerts, Delivery } from './types.js';

const TONES = { pending: 'warn', delivered: 'good', dead: 'bad' } as const;
const WORDS = { pending: 'waiting', delivered: 'delivered', dead: 'given up' } as const;

/** The message of a delivery is the body that was signed. */
function messageOf(body: string): string {
  try {
    const { alert } = JSON.parse(body) as { alert?: { message?: unknown } };
    return typeof alert?.message === 'string' ? alert.message : '';
  } catch {
    return '';
  }
}

/** What was posted to the receiver, and what could not be. */
export function Deliveries({ alerts }: { readonly alerts: Resource<Alerts> }) {
  const api = useOperator();
  const problem = useSignal<Problem | null>(null);
  const busy = useSignal<string | null>(null);
  const retry = async (id: string): Promise<void> => {
    busy.value = id;
    const answer = await api.call(`/alerts/${id}/retry`, { method: 'POST' });
    busy.value = null;
    problem.value = answer.ok ? null : answer.problem;
    alerts.refresh();
  };
  const columns: readonly Column<Delivery>[] = [
    { name: 'Message', cell: ({ body }) => <span class="sentence">{messageOf(body)}</span> },
    { name: 'Event', isMinor: true, cell: ({ event }) => event },
    { name: 'State', cell: ({ state }) => <Chip tone={TONES[state]}>{WORDS[state]}</Chip> },
    { name: 'Tries', isNumber: true, cell: ({ attempts }) => attempts },
    { name: 'Last error', isMinor: true, cell: ({ lastError }) => lastError ?? '–' },
    { name: 'When', isNumber: true, cell: ({ deliveredAt, createdAt }) => <Ago at={deliveredAt ?? createdAt} /> },
    {
      name: '',
      cell: ({ id, state }) =>
        state === 'dead' ? (
          <button type="button" class="button small" disabled={busy.value !== null} onClick={() => void retry(id)}>
            {busy.value === id ? 'Trying…' : 'Try again'}
          </button>
        ) : null,
    },
  ];
  return (
    <Panel
      title="Alert deliveries"
      load={alerts.load.value}
      rows={3}
      isEmpty={({ dead, pending, delivered }) => dead.length + pending.length + delivered.length === 0}
      empty={
        alerts.load.value.data?.arePosted === true ? (
          <p>No alert has been posted yet. The next one goes to the configured receiver.</p>
        ) : (
          <p>
            Alerts are shown here and posted nowhere. Set <code>ALERT_WEBHOOK_URL</code> and <code>ALERT_WEBHOOK_SECRET</code> to have them
            posted.
          </p>
        )
      }
    >
      {({ dead, pending, delivered }) => (
        <>
          {problem.value === null ? null : <ProblemNote problem={problem.value} />}
          <Table label="Alert deliveries" columns={columns} rows={[...dead, ...pending, ...delivered]} keyOf={({ id }) => id} />
        </>
      )}
    </Panel>
  );
}

const pastColumns: readonly Column<Alert>[] = [
  { name: 'Alert', cell: ({ kind }) => kind.replaceAll('-', ' ') },
  { name: 'Chain', isMinor: true, cell: ({ chain }) => chain },
  { name: 'Message', cell: ({ message }) => <span class="sentence">{message}</span> },
  { name: 'Opened', isNumber: true, isMinor: true, cell: ({ openedAt }) => <Ago at={openedAt} /> },
  { name: 'Recovered', isNumber: true, cell: ({ recoveredAt }) => (recoveredAt === null ? '–' : <Ago at={recoveredAt} />) },
];

const PAST_SHOWN = 10;

/** Alerts that are over, newest first. */
export function PastAlerts({ alerts }: { readonly alerts: Resource<Alerts> }) {
  return (
    <Panel
      title="Recovered alerts"
      load={alerts.load.value}
      rows={2}
      isEmpty={({ recovered }) => recovered.length === 0}
      empty={<p>No alert has been raised and recovered yet.</p>}
    >
      {({ recovered }) => (
        <Table label="Recovered alerts" columns={pastColumns} rows={recovered.slice(0, PAST_SHOWN)} keyOf={({ id }) => id} />
      )}
    </Panel>
  );
}
