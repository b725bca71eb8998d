import type { Resource } from '../api/resource.js';
import { formatUpTo } from '../ui/format.js';
import { Panel } from '../ui/panel.js';
import { Address, Ago, Chip } from '../ui/values.js';
import { coin, runwayWord } from './figures.js';
import type { ChainStatus, Mode, Status, Wallet } from './types.js';

export interface WalletChoice {
  readonly chain: string;
  readonly address: string;
}

interface WalletsProps {
  readonly status: Resource<Status>;
  readonly chosen: WalletChoice | null;
  readonly onChoose: (choice: WalletChoice) => void;
  readonly onSwitch: (chain: ChainStatus, wallet: Wallet, mode: Mode) => void;
}

const STALE_MS = 20_000;

/** One card for each wallet: what it holds, how long that lasts, and whether it runs. */
export function Wallets({ status, chosen, onChoose, onSwitch }: WalletsProps) {
  return (
    <Panel
      title="Wallets"
      load={status.load.value}
      rows={5}
      staleAfterMs={STALE_MS}
      onRetry={status.refresh}
      isEmpty={({ chains }) => chains.every(({ wallets }) => wallets.length === 0)}
      empty={
        <p>
          This gateway has no relayer: bots can read <code>/hl</code> and cannot trade through it. Set{' '}
          <code>RELAYER_KEY_&lt;CHAIN&gt;</code> and restart.
        </p>
      }
    >
      {({ chains }) => (
        <div class="relay-wallets">
          {chains.flatMap((chain) =>
            chain.wallets.map((wallet) => (
              <Card
                key={`${chain.chain} ${wallet.address}`}
                chain={chain}
                wallet={wallet}
                isChosen={chosen?.chain === chain.chain && chosen.address === wallet.address}
                isAlone={chains.reduce((sum, { wallets }) => sum + wallets.length, 0) === 1}
                onChoose={() => onChoose({ chain: chain.chain, address: wallet.address })}
                onSwitch={(mode) => onSwitch(chain, wallet, mode)}
              />
            )),
          )}
        </div>
      )}
    </Panel>
  );
}

interface CardProps {
  readonly chain: ChainStatus;
  readonly wallet: Wallet;
  readonly isChosen: boolean;
  readonly isAlone: boolean;
  readonly onChoose: () => void;
  readonly onSwitch: (mode: Mode) => void;
}

export const MODE_TONES: Readonly<Record<Mode, 'good' | 'warn' | 'bad'>> = { running: 'good', draining: 'warn', paused: 'bad' };

function Card({ chain, wallet, isChosen, isAlone, onChoose, onSwitch }: CardProps) {
  const { address, balance, burn, runwayDays, budget, traders } = wallet;
  const mode = wallet.switch?.mode ?? 'running';
  const runway = runwayWord(runwayDays, chain.threshold.runwayDays);
  return (
    <article class={`relay-wallet ${isChosen && !isAlone ? 'chosen' : ''}`}>
      <header>
        <h3>{chain.name}</h3>
        <Address value={address} label="Copy address" />
        <Chip tone={MODE_TONES[mode]}>{mode}</Chip>
        {wallet.switch?.isRetiring === true ? <Chip tone="warn">retiring</Chip> : null}
        <span class="card-tools">
          {isAlone ? null : (
            <button type="button" class="button small" aria-pressed={isChosen} onClick={onChoose}>
              {isChosen ? 'Shown below' : 'Show below'}
            </button>
          )}
          <button
            type="button"
            class={`button small ${mode === 'running' ? 'danger' : ''}`}
            onClick={() => onSwitch(mode === 'running' ? 'paused' : 'running')}
          >
            {mode === 'running' ? 'Pause…' : 'Resume…'}
          </button>
        </span>
      </header>
      {mode === 'running' ? null : (
        <p class="standing">
          {wallet.switch?.reason ?? 'No reason was given.'}{' '}
          {wallet.switch?.changedAt == null ? null : (
            <span class="muted">
              · switched <Ago at={wallet.switch.changedAt} />
            </span>
          )}
        </p>
      )}
      <div class="tiles">
        <Figure
          title="Balance"
          value={balance === null ? 'unknown' : coin(balance)}
          unit={chain.coin}
          note={`alert below ${coin(chain.threshold.balance)}`}
        />
        <Figure title="Runway" value={runway.text} unit={runwayDays === null ? '' : 'days'} tone={runway.tone} note={runway.word} />
        <Figure title="Burn, last 24 h" value={coin(burn.day)} unit={chain.coin} note={`7 days ${coin(burn.week)}`} />
        <Figure
          title="Budget of the day"
          value={coin(budget.spent)}
          unit={chain.coin}
          note={
            budget.budget === null
              ? budget.setting === 'half'
                ? 'half of the highest balance'
                : 'no bound is set'
              : `of ${coin(budget.budget)}`
          }
        />
        <Figure title="Traders" value={formatUpTo(String(traders), 0)} unit="" note="assigned to this wallet" />
      </div>
    </article>
  );
}

interface FigureProps {
  readonly title: string;
  readonly value: string;
  readonly unit: string;
  readonly note: string;
  readonly tone?: string;
}

function Figure({ title, value, unit, note, tone = '' }: FigureProps) {
  return (
    <div class="tile">
      <h4>{title}</h4>
      <strong class={tone}>
        {value} <small>{unit}</small>
      </strong>
      <p class={`tile-note ${tone}`}>{note}</p>
    </div>
  );
}
