import { useSignal } from '@preact/signals';
import type { Load } from '../api/resource.js';
import { CopyButton } from '../ui/copy.js';
import { Panel } from '../ui/panel.js';
import type { Column } from '../ui/table.js';
import { UnfoldingTable } from '../ui/unfolding-table.js';
import { Ago, Chip } from '../ui/values.js';
import type { Journal as JournalModel } from './journal-model.js';
import { statusWord } from './status-word.js';
import { OlderButton } from './older-button.js';
import { useShown } from './use-shown.js';
import { EVENT_KINDS, type EventKind, type JournalEvent } from './types.js';

const text = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');

/** One line that says what happened. */
function lineOf({ kind, data }: JournalEvent): string {
  const said = (...names: string[]): string =>
    names
      .map((name) => text(data[name]))
      .filter(Boolean)
      .join(' ');
  switch (kind) {
    case 'order':
      return `order ${said('id')} is ${statusWord(said('status'))} · ${said('market', 'side', 'type', 'size')}`;
    case 'fill':
      return `${said('market', 'side', 'size')} at ${said('price')} · position ${said('positionId')}`;
    case 'position':
      return `position ${said('id')} is ${data['isOpen'] === true ? 'open' : 'closed'} · ${said('market', 'side', 'size')}`;
    case 'withdrawal':
      return `${said('amount', 'collateralSymbol')} withdrawn from position ${said('positionId')}`;
    case 'agent':
      return `agent ${said('address', 'agent')} ${said('name')} is ${said('status').replaceAll('_', ' ')}`;
    case 'correction':
      return `a reorganisation undid ${said('of')} ${said('id')}; ${data['now'] === null ? 'nothing is left of it' : 'what is left stands here'}`;
  }
}

const columns: readonly Column<JournalEvent>[] = [
  { name: 'Cursor', isNumber: true, cell: ({ cursor }) => <code>{cursor}</code> },
  { name: 'Kind', cell: ({ kind }) => (kind === 'correction' ? <Chip tone="warn">correction</Chip> : kind) },
  { name: 'What happened', cell: (event) => <span class="sentence">{lineOf(event)}</span> },
  { name: 'When', isNumber: true, isMinor: true, cell: ({ at }) => <Ago at={at} /> },
];

interface JournalProps {
  readonly journal: JournalModel;
  readonly load: Load<readonly JournalEvent[]>;
  readonly isCut: boolean;
}

export function Journal({ journal, load, isCut }: JournalProps) {
  const kind = useSignal<EventKind | 'all'>('all');
  const { newest, hasOlder, isReading } = journal;
  const wanted = kind.value;
  const chosen = (load.data ?? []).filter((event) => wanted === 'all' || event.kind === wanted);
  const shown = useShown(chosen, hasOlder.value, () => journal.readOlder());
  const tools = (
    <>
      <label class="choice">
        <span class="offscreen">Kind</span>
        <select value={wanted} onChange={({ currentTarget }) => void (kind.value = currentTarget.value as EventKind | 'all')}>
          <option value="all">all kinds</option>
          {EVENT_KINDS.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {newest.value === null ? null : <CopyButton text={String(newest.value)} label={`Copy cursor ${newest.value}`} />}
    </>
  );
  const older = <OlderButton hasOlder={shown.hasOlder} isReading={isReading.value} onClick={shown.showOlder} />;
  return (
    <Panel
      title="Journal"
      load={load}
      rows={8}
      isCut={isCut}
      tools={tools}
      onRetry={() => journal.retry()}
      isEmpty={() => chosen.length === 0}
      empty={
        <>
          <p>
            {wanted === 'all'
              ? 'Nothing has happened to this account yet. Its first order, or an agent of its own, begins the journal.'
              : `Nothing of the kind ${wanted} is among the entries read so far.`}
          </p>
          {older}
        </>
      }
    >
      {() => (
        <>
          <UnfoldingTable
            label="Journal"
            columns={columns}
            rows={shown.rows}
            keyOf={({ cursor }) => String(cursor)}
            unfoldLabel={({ cursor }) => `JSON of entry ${cursor}`}
            classOf={(event) => (event.kind === 'correction' ? 'correction' : '')}
            detail={(event) => <Json event={event} />}
          />
          {older}
        </>
      )}
    </Panel>
  );
}

function Json({ event }: { readonly event: JournalEvent }) {
  const shown = JSON.stringify(event, null, 2);
  return (
    <div class="json">
      <CopyButton text={shown} label="Copy JSON" />
      <pre tabIndex={0} aria-label={`Entry ${event.cursor} as JSON`}>
        {shown}
      </pre>
    </div>
  );
}
