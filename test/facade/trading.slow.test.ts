// The same with as many orders in one action as an exchange takes.
await import('./trading.test.js');
export {};
