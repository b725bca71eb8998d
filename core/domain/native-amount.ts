const DECIMALS = 18;

/** Wei in units of the native coin: `0.05`, without rounding. */
export function formatNative(wei: bigint): string {
  const digits = (wei < 0n ? -wei : wei).toString().padStart(DECIMALS + 1, '0');
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '');
  return `${wei < 0n ? '-' : ''}${digits.slice(0, -DECIMALS)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** Parses units of the native coin: `0.05`. */
export const NATIVE_AMOUNT = /^(?:0|[1-9]\d{0,9})(?:\.\d{1,18})?$/;

export function parseNative(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(DECIMALS, '0'));
}
