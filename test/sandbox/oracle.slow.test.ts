// The same with more seeds, more steps and a larger crowd.
await import('./oracle.test.js');
export {};
