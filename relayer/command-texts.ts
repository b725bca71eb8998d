/** The fields of the operator routes' reply that are displayed. */
export interface SwitchesReply {
  readonly chains: readonly {
    readonly chain: string;
    readonly wallets: readonly {
      readonly wallet: string;
      readonly mode: string;
      readonly reason: string | null;
      readonly isRetiring: boolean;
      readonly queued: number;
      readonly sent: number;
      readonly isEmpty: boolean;
      readonly traders: number;
    }[];
  }[];
}

export interface StatusReply {
  readonly chains: readonly {
    readonly chain: string;
    readonly wallets: readonly {
      readonly address: string;
      readonly balanceWei: string | null;
      readonly runwayDays: number | null;
      readonly lane: { readonly reason: string | null; readonly trouble: string | null };
    }[];
  }[];
}

type Row = SwitchesReply['chains'][number]['wallets'][number];

const modeOf = ({ mode, isRetiring }: Row): string => (isRetiring ? `${mode}, retiring` : mode);

export function switchesText({ chains }: SwitchesReply): string {
  const rows = chains.flatMap(({ chain, wallets }) =>
    wallets.map((row) => [chain, row.wallet, modeOf(row), `${row.queued}`, `${row.sent}`, `${row.traders}`, row.reason ?? '']),
  );
  return table(['chain', 'wallet', 'mode', 'queued', 'sent', 'traders', 'reason'], rows);
}

export function statusText(status: StatusReply, { chains }: SwitchesReply): string {
  const found = (chain: string, wallet: string) =>
    status.chains.find((each) => each.chain === chain)?.wallets.find(({ address }) => address === wallet);
  const rows = chains.flatMap(({ chain, wallets }) =>
    wallets.map((row) => {
      const { balanceWei = null, runwayDays = null, lane = null } = found(chain, row.wallet) ?? {};
      const runway = runwayDays === null ? '–' : runwayDays.toFixed(1);
      const work = [`${row.queued}`, `${row.sent}`, `${row.traders}`];
      return [chain, row.wallet, modeOf(row), coins(balanceWei), runway, ...work, lane?.reason ?? lane?.trouble ?? row.reason ?? ''];
    }),
  );
  return table(['chain', 'wallet', 'mode', 'balance', 'runway (d)', 'queued', 'sent', 'traders', 'remark'], rows);
}

export interface RotationReply {
  readonly chain: string;
  readonly wallet: string;
  readonly isRetiring: boolean;
  readonly successors: readonly string[];
  readonly traders: number;
  readonly openJobs: number;
  readonly isDone: boolean;
  readonly unknown: number;
  readonly next: string | null;
  readonly waiting: readonly { readonly trader: string; readonly delegationTx: { readonly to: string; readonly data: string } | null }[];
}

/** Lists what traders and the operator have to do next. */
export function rotationText(reply: RotationReply): string {
  const { chain, wallet, isRetiring, successors, traders, openJobs, isDone, unknown, waiting } = reply;
  if (!isRetiring) return `${chain}: ${wallet} stays, and takes new traders again.`;
  const head = table(
    ['chain', 'retiring', 'successors', 'traders', 'to delegate', 'under way'],
    [[chain, wallet, successors.join(' '), `${traders}`, `${waiting.length}`, `${openJobs}`]],
  );
  const list = table(
    ['trader', 'sends to', 'data'],
    waiting.map(({ trader, delegationTx }) => [trader, delegationTx?.to ?? '–', delegationTx?.data ?? '–']),
  );
  const doubt = unknown === 0 ? '' : `\n${unknown} traders could not be asked for: the node did not answer.`;
  return [head, doubt, waiting.length === 0 ? '' : `\nStill delegated to it:\n${list}`, `\n${nextStep(isDone, waiting.length)}`]
    .filter(Boolean)
    .join('\n');
}

const nextStep = (isDone: boolean, waiting: number): string =>
  isDone
    ? 'No trader depends on it any more: drain it, then take its key out of the settings and restart.'
    : waiting > 0
      ? 'These traders send the transaction above from their own wallets; each moves with its next action. Run this again to see who is left.'
      : 'It still has something under way; run this again in a moment.';

export interface ContractReply {
  readonly chains: readonly {
    readonly chain: string;
    readonly halt: string | null;
    readonly lastCut: string | null;
    readonly findings: readonly string[];
    readonly unread: readonly {
      readonly txHash: string;
      readonly block: string;
      readonly settled: { readonly note: string } | null;
      readonly orders: readonly { readonly id: string; readonly trader: string }[];
    }[];
  }[];
}

export const contractText = ({ chains }: ContractReply): string =>
  chains
    .map(({ chain, halt, lastCut, findings, unread }) => {
      const head = `${chain}: ${halt === null ? 'positions are opened' : `nothing is opened: ${halt}`}`;
      const cut = lastCut === null ? 'no change of the facets is known' : `facets last changed in block ${lastCut}`;
      const rows = unread.map(({ txHash, block, settled, orders }) => [
        txHash,
        block,
        settled?.note ?? 'open',
        orders.map(({ id }) => id).join(' ') || '–',
      ]);
      const list = rows.length === 0 ? [] : [table(['transaction', 'block', 'settled', 'orders'], rows)];
      return [head, `  ${cut}`, ...findings.map((finding) => `  ${finding}`), ...list].join('\n');
    })
    .join('\n\n');

export interface AdoptionReply {
  readonly adopted: { readonly loss: boolean; readonly wallets: readonly { readonly chain: string; readonly wallet: string }[] };
  readonly doubt: string | null;
  readonly loss: { readonly text: string; readonly awaitsOperator: boolean } | null;
  readonly wallets: readonly { readonly chain: string; readonly wallet: string; readonly reason: string; readonly command: string }[];
}

/** What was adopted, and what still waits. */
export function adoptionText({ adopted, doubt, loss, wallets }: AdoptionReply): string {
  const lines = [
    ...(adopted.loss && loss !== null ? [loss.text] : []),
    ...adopted.wallets.map(({ chain, wallet }) => `${chain}: ${wallet} is used from now on.`),
  ];
  return [
    ...(lines.length === 0 ? ['Nothing was adopted.'] : lines),
    ...(doubt === null ? [] : [`Nothing is signed now: ${doubt}.`]),
    ...(loss?.awaitsOperator === true ? [loss.text] : []),
    ...wallets.map(({ chain, wallet, reason, command }) => `${chain}: ${wallet} waits, because ${reason}: ${command}`),
  ].join('\n');
}

/** Columns are as wide as their widest cell; numeric columns are right-aligned. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [heads, ...rows];
  const widths = heads.map((_, at) => Math.max(...cells.map((row) => (row[at] ?? '').length)));
  const isNumber = heads.map((_, at) => rows.length > 0 && rows.every((row) => /^(?:-?[\d.,]+(?: ?[a-z%]+)?|–)$/i.test(row[at] ?? '')));
  const line = (row: readonly string[]): string =>
    heads
      .map((_, at) => (isNumber[at] === true ? (row[at] ?? '').padStart(widths[at] ?? 0) : (row[at] ?? '').padEnd(widths[at] ?? 0)))
      .join('  ')
      .trimEnd();
  return [line(heads), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

const NATIVE = 10n ** 18n;
const SHOWN = 10n ** 12n;

/** Six decimals, rounded down so that a balance is never overstated. */
function coins(wei: string | null): string {
  if (wei === null || !/^\d+$/.test(wei)) return '–';
  const units = BigInt(wei);
  return `${units / NATIVE}.${((units % NATIVE) / SHOWN).toString().padStart(6, '0')}`;
}
