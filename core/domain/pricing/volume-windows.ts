import type { OiWindowsSettings, VolumeWindow } from '../market.js';
import { P10 } from './units.js';

/** null before the first window starts, where the contract itself would revert. */
export function windowIdAt(settings: OiWindowsSettings, timestamp: bigint): bigint | null {
  return timestamp < settings.startTs ? null : (timestamp - settings.startTs) / settings.windowsDuration;
}

/** USD (1e18) traded in one direction over the last `windowsCount` windows, the current one included. */
export function activeVolumeUsd(input: {
  readonly windows: readonly VolumeWindow[];
  readonly settings: OiWindowsSettings;
  readonly timestamp: bigint;
  readonly up: boolean;
}): bigint {
  const current = windowIdAt(input.settings, input.timestamp);
  if (current === null || input.settings.windowsCount === 0n) return 0n;
  const earliest = current - (input.settings.windowsCount - 1n);
  return input.windows
    .filter(({ id }) => id >= earliest && id <= current)
    .reduce((sum, window) => sum + (input.up ? window.oiLongUsd : window.oiShortUsd), 0n);
}

/** The volume that an action of `usd` adds to its direction's window; a close without profit counts only in part. */
export function volumeAdded(input: {
  readonly usd: bigint;
  readonly open: boolean;
  readonly isPnlPositive: boolean;
  readonly negPnlCumulVolMultiplier: bigint;
}): bigint {
  return input.open || input.isPnlPositive ? input.usd : (input.usd * input.negPnlCumulVolMultiplier) / P10;
}
