import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { chainName, formatUpTo, unscaled } from '../ui/format.js';
import { Address, Chip } from '../ui/values.js';
import { checkNode, verdictOf } from './node-check.js';
import { addChain, connect, disconnect, rpcOf, switchChain, type ChainToAdd, type Session } from './session.js';
import { StepNote, useAction } from './steps.js';
import type { FoundWallet } from './wallets.js';

interface WalletCardProps {
  readonly found: readonly FoundWallet[];
  readonly demo: readonly FoundWallet[];
  readonly session: Session | null;
  readonly wanted: ChainToAdd;
  /** Slug of the chain. */
  readonly chain: string;
  readonly isSandbox: boolean;
}

/** Wallets of the browser, then the account, its chain and the way to the right one. */
export function WalletCard(props: WalletCardProps) {
  const { session } = props;
  return (
    <section class="panel" aria-labelledby="wallet-title" data-state={session === null ? 'empty' : 'ready'}>
      <div class="panel-head">
        <h2 id="wallet-title">1 · Wallet</h2>
        <div class="panel-tools">
          {session === null ? null : (
            <button type="button" class="button small" onClick={disconnect}>
              Use another wallet
            </button>
          )}
        </div>
      </div>
      <div class="card-body">{session === null ? <Choice {...props} /> : <Connected {...props} session={session} />}</div>
    </section>
  );
}

function Choice({ found, demo, isSandbox }: WalletCardProps) {
  const action = useAction();
  const use = (wallet: FoundWallet): void =>
    action.start(async (report) => {
      report({ kind: 'wallet', text: `let ${wallet.name} show this page an account.` });
      await connect(wallet);
      return { text: `${wallet.name} is connected.` };
    });
  return (
    <>
      <p>The wallet that holds your funds. It signs what you confirm in it and nothing else; this page sees its address, never its key.</p>
      {found.length === 0 ? (
        <p class="muted">
          This browser has no wallet. Install one that announces itself to pages (EIP-6963), for example MetaMask, Rabby or Frame, and this
          card finds it.
        </p>
      ) : (
        <div class="wallets">
          {found.map((wallet) => (
            <button key={wallet.id} type="button" class="button wallet" disabled={action.isBusy} onClick={() => use(wallet)}>
              {wallet.icon === null ? null : <img src={wallet.icon} alt="" width={20} height={20} />}
              {wallet.name}
            </button>
          ))}
        </div>
      )}
      {isSandbox && demo.length > 0 ? (
        <div class="sandbox-only">
          <p>
            <span class="network sandbox">SANDBOX ONLY</span> Demo wallets live in this page. They ask nothing before they sign.
          </p>
          <ul class="plain-list">
            {demo.map((wallet) => (
              <li key={wallet.id}>
                <button type="button" class="button" disabled={action.isBusy} onClick={() => use(wallet)}>
                  {wallet.name}
                </button>{' '}
                <span class="muted">{wallet.demo?.note}</span>
              </li>
            ))}
          </ul>
        </div>
      ) : null}
      <StepNote step={action.step.value} />
    </>
  );
}

function Connected({ session, wanted, chain, isSandbox }: WalletCardProps & { readonly session: Session }) {
  const action = useAction();
  const { wallet, address, chainId } = session;
  const isRight = chainId === wanted.chainId;
  const toChain = (): void =>
    action.start(async (report) => {
      report({ kind: 'wallet', text: `let it change to ${wanted.name}.` });
      await switchChain(session, wanted);
      return { text: `The wallet is on ${wanted.name}.` };
    });
  return (
    <>
      <dl class="facts">
        <div>
          <dt>Wallet</dt>
          <dd>
            {wallet.name} {wallet.demo === null ? null : <Chip tone="warn">demo</Chip>}
          </dd>
        </div>
        <div>
          <dt>Address</dt>
          <dd>
            <Address value={address} label="Copy address" />
          </dd>
        </div>
        <div>
          <dt>Chain</dt>
          <dd>{isRight ? <Chip tone="good">{`✓ ${chainName(chain)}`}</Chip> : <Chip tone="bad">{`✗ chain ${chainId}`}</Chip>}</dd>
        </div>
        {isRight ? <Gas session={session} symbol={wanted.nativeSymbol} /> : null}
      </dl>
      {isRight ? null : (
        <div class="fix">
          <p>
            The wallet is on another chain. Wallets sign for the chain they are on, so change to {wanted.name} ({wanted.chainId}) first.
          </p>
          <button type="button" class="button main" disabled={action.isBusy} onClick={toChain}>
            Switch to {wanted.name}
          </button>
          {wanted.rpcUrl === null ? <p class="muted">A wallet that does not know the chain has to be given a node of it by you.</p> : null}
        </div>
      )}
      {isRight && isSandbox && wallet.demo === null ? <NodeCheck session={session} wanted={wanted} chain={chain} /> : null}
      <StepNote step={action.step.value} />
    </>
  );
}

const DECIMALS = 18;
const READ_MS = 5_000;

/** What the wallet pays gas with; read from its own node. */
function Gas({ session, symbol }: { readonly session: Session; readonly symbol: string }) {
  const shown = useSignal<string | null>(null);
  useEffect(() => {
    let isOver = false;
    const read = async (): Promise<void> => {
      const wei = await rpcOf(session)('eth_getBalance', [session.address, 'latest']).catch(() => null);
      if (!isOver) shown.value = typeof wei === 'string' ? unscaled(BigInt(wei), DECIMALS) : null;
    };
    void read();
    const timer = setInterval(() => void read(), READ_MS);
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }, [session]);
  return (
    <div>
      <dt>For gas</dt>
      <dd>{shown.value === null ? '…' : `${formatUpTo(shown.value, 6)} ${symbol}`}</dd>
    </div>
  );
}

interface NodeCheckProps {
  readonly session: Session;
  readonly wanted: ChainToAdd;
  readonly chain: string;
}

/** The sandbox has the ids of real networks: a wallet may be on the right chain id and on another chain. */
function NodeCheck({ session, wanted, chain }: NodeCheckProps) {
  const action = useAction();
  const isOther = verdictOf(session);
  if (isOther === null) return <p class="muted">Asking the wallet whether its node is this sandbox…</p>;
  if (!isOther) return null;
  const add = (): void =>
    action.start(async (report) => {
      report({ kind: 'wallet', text: 'let it add the node of this sandbox.' });
      await addChain(session.wallet.provider, wanted);
      const isStill = (await checkNode(session, chain)) !== false;
      return {
        text: isStill ? 'The wallet still asks another node: choose the added one in its settings.' : 'The wallet asks this sandbox.',
      };
    });
  return (
    <div class="fix">
      <p>
        The wallet reaches another node of chain {wanted.chainId} than this sandbox. What it signs here would count on the real chain, so
        this page asks it for nothing until its node is this sandbox’s
        {wanted.rpcUrl === null ? null : (
          <>
            : <code>{wanted.rpcUrl}</code>
          </>
        )}
        .
      </p>
      {wanted.rpcUrl === null ? null : (
        <button type="button" class="button main" disabled={action.isBusy} onClick={add}>
          Add the sandbox’s node
        </button>
      )}
      <StepNote step={action.step.value} />
    </div>
  );
}
