import { formatEther } from 'viem/utils';
import { describeLoss } from '../core/observability/lost-commits.js';
import { awaitsOperator, type CommitLoss } from '../core/ports/stores/continuity.js';
import { table } from './command-texts.js';
import type { Fate, WalletDifference } from './compare-restored.js';

export interface ChainDifference {
  readonly chain: string;
  /** The last block that the index has read, and the chain's newest one. */
  readonly index: { readonly database: bigint | null; readonly chain: bigint };
  readonly wallets: readonly WalletDifference[];
}

export interface RestoreReport {
  readonly differs: boolean;
  readonly chains: readonly ChainDifference[];
  /** Null for a look that changes nothing. */
  readonly marked: { readonly loss: CommitLoss; readonly isNew: boolean } | null;
}

/** A wallet whose next nonce alone is behind differs too: what used the nonces was not found. Jobs that wait are no difference by themselves. */
export const differs = (chains: readonly ChainDifference[]): boolean =>
  chains.some(({ wallets }) =>
    wallets.some(
      ({ transactions, unexplained, gasWei, nonces }) =>
        transactions.length + unexplained.length > 0 || gasWei > 0n || nonces.pending > (nonces.database ?? 0),
    ),
  );

const FATES: Readonly<Record<Fate, string>> = {
  sent: 'on chain: it ends as mined',
  refused: 'may be on chain: it is refused',
  compared: 'is compared with the chain, then sent or refused',
};

export const restoreText = ({ chains, marked, differs: isOther }: RestoreReport): string =>
  [
    ...chains.flatMap(chainText),
    isOther ? 'Database and chain differ.' : 'Database and chain are the same.',
    markedText(marked, isOther),
  ].join('\n\n');

function chainText({ chain, index, wallets }: ChainDifference): string[] {
  const read = index.database === null ? 'nothing is indexed yet' : `indexed to block ${index.database} of ${index.chain}`;
  return [`${chain}: ${read}`, ...wallets.map(walletText)];
}

function walletText({ wallet, nonces, transactions, unexplained, notLookedFor, orders, gasWei }: WalletDifference): string {
  const rows = transactions.map(({ nonce, hash, block, calls, trader, job, isReverted, costWei }) => [
    `${nonce}`,
    hash,
    `${block}`,
    `${calls.join(', ')}${isReverted ? ' (reverted)' : ''}`,
    trader ?? '',
    job === null ? 'forgotten' : `${job}`,
    formatEther(costWei),
  ]);
  const affected = orders.map(({ order, job, trader, fate }) => [order === null ? '' : `${order}`, `${job}`, trader ?? '', FATES[fate]]);
  return [
    `Wallet ${wallet}`,
    `  next nonce: database ${nonces.database ?? 'none'}, chain ${nonces.chain}, with what waits for a block ${nonces.pending}`,
    `  gas that is not in the ledger: ${formatEther(gasWei)}`,
    `  transactions on chain that the database does not know: ${transactions.length}`,
    ...(rows.length === 0 ? [] : [table(['nonce', 'transaction', 'block', 'calls', 'trader', 'job', 'cost'], rows)]),
    ...(notLookedFor === 0 ? [] : [`  older nonces that were not looked for: ${notLookedFor}`]),
    ...(unexplained.length === 0
      ? []
      : [`  nonces that are used and of which no transaction was found: ${ranges(unexplained)}`, UNEXPLAINED]),
    `  orders that are affected: ${orders.length}`,
    ...(affected.length === 0 ? [] : [table(['order', 'job', 'trader', 'becomes'], affected)]),
  ].join('\n');
}

const UNEXPLAINED =
  '  They are spent, and are not used again; their gas is missing in the ledger. Name a node with the state of earlier blocks (docs/backup.md).';

function markedText(marked: RestoreReport['marked'], isOther: boolean): string {
  if (marked === null) return isOther ? 'Nothing was changed. Next: diamond-gateway restore --run' : 'Nothing was changed.';
  const { loss, isNew } = marked;
  return [
    `${isNew ? 'Marked' : 'It was marked before'}: ${describeLoss(loss)}`,
    'Now start the gateways. Each lane is compared with the chain before it signs.',
    ...(awaitsOperator(loss) ? ['Then look at positions and agents, and run npx diamond-gateway relayer adopt.'] : []),
  ].join('\n');
}

/** 3, 5–9 */
export function ranges(nonces: readonly number[]): string {
  const parts: { from: number; to: number }[] = [];
  for (const nonce of nonces) {
    const last = parts.at(-1);
    if (last !== undefined && nonce === last.to + 1) last.to = nonce;
    else parts.push({ from: nonce, to: nonce });
  }
  return parts.map(({ from, to }) => (from === to ? `${from}` : `${from}–${to}`)).join(', ');
}
