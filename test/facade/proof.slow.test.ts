// The same with more bytes changed.
await import('./proof.test.js');
export {};
