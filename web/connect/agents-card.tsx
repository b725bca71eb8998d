import type { Agent, Hex, MasterTransaction, TraderReadiness } from '@diamond-gateway/client/api';
import { masterTypedData } from '@diamond-gateway/client/master';
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
      isEmpty={(found) => found.agents.length === 0 && leftOver(desk, found) === null}
      empty="No agent is in force. Make one above."
    >
      {(found) => (
        <ul class="rows">
          {found.agents.map((agent) => (
            <AgentRow key={agent.agent} desk={desk} agent={agent} isDelegate={sameAddress(agent.agent, found.delegate)} />
          ))}
          <LeftOver key="left over" desk={desk} delegate={leftOver(desk, found)} />
        </ul>
      )}
    </Panel>
  );
}

/** A delegate on chain that is no agent in force: revoked or expired here, it can still trade by itself. */
function leftOver({ info }: Desk, { agents, delegate }: TraderReadiness): Hex | null {
  const isKnown =
    agents.some(({ agent }) => sameAddress(agent, delegate)) || info.relayers.some((relayer) => sameAddress(relayer, delegate));
  return isKnown ? null : delegate;
}

function LeftOver({ desk, delegate }: { readonly desk: Desk; readonly delegate: Hex | null }) {
  const action = useAction();
  if (delegate === null) return null;
  const undelegate = (): void =>
    action.start((report) =>
      sendAndCheck({
        desk,
        transaction: transactionOf(desk, { type: 'undelegate' }),
        ask: 'confirm removeTradingDelegate.',
        isDone: (found) => found.delegate === null,
        report,
      }),
    );
  return (
    <li class="row">
      <div class="row-text">
        <p>
          The chain still names <Address value={delegate} label="Copy delegate" /> as the trading delegate. No agent in force has this
          address: anyone who has its key can trade for this wallet until it is removed there as well.
        </p>
        <StepNote step={action.step.value} />
      </div>
      <button type="button" class="button danger" disabled={action.isBusy} onClick={undelegate}>
        Remove the delegate
      </button>
    </li>
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
      await checkAgain(desk, ({ agents }) => !agents.some((one) => sameAddress(one.agent, agent.agent)));
      return { text: revocationTx === null ? 'Revoked.' : 'Revoked here. Remove the delegate on the chain as well.' };
    });
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
      <button type="button" class="button danger" disabled={action.isBusy} onClick={revoke}>
        Revoke
      </button>
    </li>
  );
}
