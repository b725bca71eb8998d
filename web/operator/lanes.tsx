import type { Resource } from '../api/resource.js';
import { clock } from '../ui/clock.js';
import { formatAge, shortAddress } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { Table, type Column } from '../ui/table.js';
import { Ago, Chip } from '../ui/values.js';
import type { Status, Wallet } from './types.js';

interface LaneRow extends Wallet {
  readonly chainName: string;
}

const STALE_MS = 20_000;

const columns: readonly Column<LaneRow>[] = [
  {
    name: 'Wallet',
    cell: ({ chainName, address }) => (
      <span class="two">
        <code title={address}>{shortAddress(address)}</code> <small class="muted">{chainName}</small>
      </span>
    ),
  },
  { name: 'State', cell: ({ lane }) => <Chip tone={lane.state === 'ok' ? 'good' : 'bad'}>{lane.state}</Chip> },
  { name: 'Since', cell: ({ lane }) => (lane.since === null ? '–' : <Ago at={lane.since} />) },
  { name: 'Reason', cell: ({ lane }) => lane.reason ?? lane.trouble ?? '–' },
  { name: 'Next nonce', isNumber: true, cell: ({ lane }) => lane.nextNonce ?? 'unused' },
  { name: 'Open jobs', cell: ({ lane }) => <Jobs jobs={lane.openJobs} /> },
  { name: 'Oldest', isNumber: true, cell: ({ lane }) => (lane.oldestOpenMs === null ? '–' : formatAge(lane.oldestOpenMs)) },
  { name: 'Owner', isMinor: true, cell: ({ lane }) => <Owner owner={lane.owner} /> },
];

function Jobs({ jobs }: { readonly jobs: Wallet['lane']['openJobs'] }) {
  const states = Object.entries(jobs);
  return states.length === 0 ? <span class="muted">none</span> : <>{states.map(([state, count]) => `${count} ${state}`).join(', ')}</>;
}

function Owner({ owner }: { readonly owner: Wallet['lane']['owner'] }) {
  if (owner === null) return <span class="warn">no replica</span>;
  return (
    <span title={`database connection ${owner.connection}`}>
      {owner.host ?? 'this machine'} <small class="muted">for {formatAge(clock.value - owner.since)}</small>
    </span>
  );
}

export function Lanes({ status }: { readonly status: Resource<Status> }) {
  return (
    <Panel
      title="Lanes"
      load={status.load.value}
      rows={2}
      staleAfterMs={STALE_MS}
      isEmpty={({ chains }) => chains.every(({ wallets }) => wallets.length === 0)}
      empty={<p>No wallet, no lane. The first wallet of a chain brings one.</p>}
    >
      {({ chains }) => (
        <Table
          label="Lanes"
          columns={columns}
          rows={chains.flatMap(({ name, wallets }) => wallets.map((wallet) => ({ ...wallet, chainName: name })))}
          keyOf={({ chainName, address }) => `${chainName} ${address}`}
        />
      )}
    </Panel>
  );
}
