// The same over eight times as many rounds, until every outcome was met.
await import('./differential.test.js');
export {};
