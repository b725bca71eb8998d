import type { DiamondLog, LogPlace } from './diamond-log.js';

type Hex = `0x${string}`;

export const REFERRAL_KINDS = ['registered', 'rewarded', 'ally-rewarded', 'claimed'] as const;

/** A Diamond event of a referrer or an ally. Amounts are 1e18; 0 where the event has none. */
export interface Referral {
  readonly kind: (typeof REFERRAL_KINDS)[number];
  /** The referrer, or the ally that gets a share of a referrer's rewards. */
  readonly beneficiary: Hex;
  /** Null for a claim. */
  readonly trader: Hex | null;
  readonly volumeUsd: bigint;
  readonly amountGns: bigint;
  readonly amountUsd: bigint;
  readonly place: LogPlace;
}

/** Referral events do not change orders or positions. */
export const referralsIn = (logs: readonly DiamondLog[]): Referral[] => logs.flatMap((log) => referralOf(log) ?? []);

function referralOf(log: DiamondLog): Referral | null {
  const { place } = log;
  switch (log.name) {
    case 'ReferrerRegistered':
      return { ...NOTHING, kind: 'registered', beneficiary: lower(log.args.referrer), trader: lower(log.args.trader), place };
    case 'ReferrerRewardDistributed':
      return { kind: 'rewarded', beneficiary: lower(log.args.referrer), ...rewardOf(log.args), place };
    case 'AllyRewardDistributed':
      return { kind: 'ally-rewarded', beneficiary: lower(log.args.ally), ...rewardOf(log.args), place };
    case 'ReferrerRewardsClaimed': {
      const { referrer, amountGns } = log.args;
      return { ...NOTHING, kind: 'claimed', beneficiary: lower(referrer), trader: null, amountGns, place };
    }
    default:
      return null;
  }
}

const NOTHING = { volumeUsd: 0n, amountGns: 0n, amountUsd: 0n } as const;
const lower = (address: Hex): Hex => address.toLowerCase() as Hex;

const rewardOf = (args: {
  readonly trader: Hex;
  readonly volumeUsd: bigint;
  readonly amountGns: bigint;
  readonly amountValueUsd: bigint;
}) => ({
  trader: lower(args.trader),
  volumeUsd: args.volumeUsd,
  amountGns: args.amountGns,
  amountUsd: args.amountValueUsd,
});
