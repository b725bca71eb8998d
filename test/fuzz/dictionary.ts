/** Words and numbers from which examples are put together. A schema's leaf takes those of them that fit it. */
export interface Dictionary {
  readonly words: readonly string[];
  readonly numbers: readonly number[];
}

const hex = (digits: number, digit: string): string => `0x${digit.repeat(digits)}`;

const NUMBERS = [
  0, 1, 2, 3, 5, 6, 10, 20, 25, 50, 60, 100, 200, 337, 500, 1_000, 5_000, 10_000, 60_000, 300_000, 1_000_000, 3_600_000, 86_400_000, 1_337,
  421_614, 1_700_000_000_000, 0.5, 1.5, -1, -5_000_000,
];

/** Beside these come the addresses of the venue: those of its traders and agents are the ones that lead anywhere. */
const WORDS = [
  ...['BTC/USD', 'btc-usd', 'ETH/USD', 'EUR/USD', 'BTC', 'ETH', 'EUR', 'kPEPE', '@1', 'NVDA', 'USDC', 'DAI'],
  ...['0', '1', '2', '5', '10', '20', '50', '100', '500', '5000', '60000', '0.02', '0.001', '1.5', '110', '0.5', '1000000', '59999.9'],
  ...['1m', '5m', '15m', '1h', '4h', '1d', '1w', '1M'],
  ...['1700000000000', '1763300000000', '2026-01-31', '2026-11-16'],
  ...['long', 'short', 'limit', 'market', 'stop', 'all', 'default', 'demo', 'fuzz', '', 'a', 'i', 'disabled', 'order-1', 'cursor'],
  ...['Mainnet', 'Testnet', '0x66eee', '0xa4b1', '0x1'],
  ...['arbitrum-sepolia', 'arbitrum', 'base', 'polygon'],
  hex(0, ''),
  hex(2, 'a'),
  hex(32, 'a'),
  hex(64, '7'),
  hex(130, '1'),
  `0x${'1'.repeat(128)}1b`,
];

const ADDRESSES = [hex(40, '0'), hex(40, '1'), '0x52908400098527886E0F7030069857D2E4169EE7', '0xde709f2102306220921060314715629080e2fb77'];

export const createDictionary = (addresses: readonly string[] = []): Dictionary => ({
  words: [...addresses, ...ADDRESSES, ...WORDS],
  numbers: NUMBERS,
});
