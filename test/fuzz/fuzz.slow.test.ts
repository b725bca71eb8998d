// The same with three times as many inputs.
await import('./fuzz.test.js');
export {};
