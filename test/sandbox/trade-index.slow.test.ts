// The same with more seeds and more steps.
await import('./trade-index.test.js');
export {};
