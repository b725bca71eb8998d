// The same with every length of candles.
await import('./markets.test.js');
export {};
