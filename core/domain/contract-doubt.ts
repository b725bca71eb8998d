type Hex = `0x${string}`;

/** What is stored of a chain's contract beyond what every release knows. */
export interface ContractStanding {
  /** Transactions whose logs cannot be read, oldest first; neither read since then nor settled by the operator. */
  readonly unread: readonly { readonly txHash: Hex; readonly block: bigint }[];
  /** The block of the newest change of the Diamond's facets; null while none is known. */
  readonly cut: bigint | null;
  /** The hash of that block: another branch can have another change at the same height. */
  readonly cutHash: Hex | null;
  /** Changes up to this block agreed with this release or were accepted by the operator, who also accepted the findings. Null: nothing. */
  readonly accepted: { readonly upTo: bigint; readonly findings: readonly string[] } | null;
}

/** What the checks of a contract found. */
export interface ContractCheck {
  /** They read the contract at this block or later. */
  readonly block: bigint;
  /** The newest change that was known when they began. */
  readonly cut: bigint | null;
  readonly cutHash: Hex | null;
  /** Sentences about what is not as this release expects; empty: the contract agrees. */
  readonly findings: readonly string[];
  /** Those of the findings that are about logs: what a change did to an event shows only when it is logged. */
  readonly logged: readonly string[];
  /** False: what the backend says was not at hand, so that something was not compared. */
  readonly isWhole: boolean;
}

export const NOTHING_KNOWN: ContractStanding = { unread: [], cut: null, cutHash: null, accepted: null };

/** The contract changed after it was checked, or a reorganisation took a change back: nothing may be signed on what is known of it. */
export function isOutdated({ cut, cutHash }: ContractStanding, check: ContractCheck | null): boolean {
  if (check === null) return cut !== null;
  return check.cut !== cut || check.cutHash !== cutHash || (cut !== null && check.block < cut);
}

/** Why no order is opened, as a clause that traders read; null while orders are opened. */
export function openingsHalt(standing: ContractStanding, check: ContractCheck | null): string | null {
  const [first] = standing.unread;
  if (first !== undefined)
    return `the contracts logged something in ${first.txHash} that this release cannot read: no position is opened until its outcome is known`;
  if (isOutdated(standing, check)) return beingChecked(standing);
  const doubts = openDoubts(standing, check);
  return doubts.length === 0
    ? null
    : `the contracts were changed in block ${standing.cut}, and ${doubts[0]}: no position is opened until the operator confirms it`;
}

export const beingChecked = ({ cut }: ContractStanding): string =>
  `the contracts were changed${cut === null ? '' : ` in block ${cut}`} and are being checked`;

/** Findings that count as the change's: not those that the operator accepted, and of a change that once agreed only those about its logs. */
export function openDoubts({ cut, accepted }: ContractStanding, check: ContractCheck | null): readonly string[] {
  if (cut === null || check === null) return [];
  const found = accepted !== null && accepted.upTo >= cut ? check.logged : check.findings;
  return found.filter((finding) => accepted?.findings.includes(finding) !== true);
}

/** The newest change agrees with this release, and that is not stored yet. */
export const agreesAnew = (standing: ContractStanding, check: ContractCheck): boolean =>
  standing.cut !== null &&
  check.isWhole &&
  check.findings.length === 0 &&
  !isOutdated(standing, check) &&
  (standing.accepted === null || standing.accepted.upTo < standing.cut);
