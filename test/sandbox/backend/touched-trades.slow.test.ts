// The same with more seeds.
await import('./touched-trades.test.js');
export {};
