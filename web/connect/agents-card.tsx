import type { Agent, MasterTransaction } from '@diamond-gateway/client/api';
import { masterTypedData } from '@diamond-gateway/client/master';
import { useSignal } from '@preact/signals';
import { request } from '../api/request.js';
import { formatUtc } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { Address, Chip } from '../ui/values.js';
import { clockOffset } from './agent-wish.js';
import { checkAgain, sameAddress, sendAndCheck, transactionOf, type Desk } from './desk.js';
import { signTypedData } from './session.js';
import { StepNote, take, useAction } from './steps.js';

/** Every agent in force, with its bounds and a way to end it. */
export function AgentsCard({ desk }: { readonly desk: Desk }) {
  const { load, refresh } = desk.readiness;
  return (
    <Panel
      title="Agents"
      load={load.value}
      rows={2}
      onRetry={refresh}
      isEmpty={({ agents }) => agents.length === 0}
      empty="No agent is in force. Make one above."
    >
      {({ agents, delegate }) => (
        <ul class="rows">
          {agents.map((agent) => (
            <AgentRow key={agent.agent} desk={desk} agent={agent} isDelegate={sameAddress(agent.agent, delegate)} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

const STATUS = {
  active: ['good', 'active'],
  pending_delegation: ['warn', 'not the delegate'],
  expired: ['bad', 'expired'],
  revoked: ['bad', 'revoked'],
} as const;

function boundsOf({ scope: { markets, maxLeverage, dailySpendCapUsd, expiresAt, permissions } }: Agent): string {
  return [
    permissions === 'read' ? 'reads only' : 'trades',
    markets === 'all' ? 'all markets' : markets.join(', '),
    ...(maxLeverage === null ? [] : [`at most ${maxLeverage}×`]),
    ...(dailySpendCapUsd === null ? [] : [`$${dailySpendCapUsd} a day`]),
    expiresAt === null ? 'no expiry' : `until ${formatUtc(expiresAt)}`,
    'cannot withdraw',
  ].join(' · ');
}

interface AgentRowProps {
  readonly desk: Desk;
  readonly agent: Agent;
  readonly isDelegate: boolean;
}

function AgentRow({ desk, agent, isDelegate }: AgentRowProps) {
  const action = useAction();
  const removal = useSignal<MasterTransaction | null>(null);
  const [tone, word] = STATUS[agent.status];
  const revoke = (): void =>
    action.start(async (report) => {
      const { page, chain, info, session } = desk;
      const timestamp = Date.now() + (await clockOffset(page.base));
      const data = masterTypedData(
        { serviceName: info.signing.domain.name, chain },
        { type: 'AgentRevocation', agent: agent.agent, timestamp },
      );
      report({ kind: 'wallet', text: `sign that ${agent.name || 'the agent'} is revoked.` });
      const signature = await signTypedData(session, data);
      report({ kind: 'working', text: 'Revoking…' });
      const body = { trader: session.address, timestamp, signature };
      const answer = await request<{ revocationTx: MasterTransaction | null }>(`${page.base}/agents/${agent.agent}`, {
        method: 'DELETE',
        body,
      });
      const { revocationTx } = take(answer);
      removal.value = revocationTx;
      // With a delegate to remove the row stays, for the button that does it.
      if (revocationTx === null) await checkAgain(desk, ({ agents }) => !agents.some((one) => sameAddress(one.agent, agent.agent)));
      return {
        text:
          revocationTx === null
            ? 'Revoked.'
            : 'Revoked here. The chain still names the delegate: remove it there as well, so that the old key can trade no more.',
      };
    });
  const undelegate = (): void =>
    action.start((report) =>
      sendAndCheck({
        desk,
        transaction: transactionOf(desk, { type: 'undelegate' }),
        ask: 'confirm removeTradingDelegate.',
        isDone: ({ delegate }) => delegate === null,
        report,
      }),
    );
  return (
    <li class="row">
      <div class="row-text">
        <div class="row-head">
          <strong>{agent.name === '' ? 'unnamed' : agent.name}</strong> <Chip tone={tone}>{word}</Chip>{' '}
          <Chip tone="plain">{agent.mode === 'self' ? 'Native API' : 'Hyperliquid API'}</Chip>{' '}
          <Address value={agent.agent} label="Copy agent" />
        </div>
        <p class="muted">
          {boundsOf(agent)}
          {isDelegate ? ' · is the delegate on chain' : ''}
        </p>
        <StepNote step={action.step.value} />
      </div>
      {removal.value === null ? (
        <button type="button" class="button danger" disabled={action.isBusy} onClick={revoke}>
          Revoke
        </button>
      ) : (
        <button type="button" class="button danger" disabled={action.isBusy} onClick={undelegate}>
          Remove the delegate
        </button>
      )}
    </li>
  );
}
