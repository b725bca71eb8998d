// The same with every reason.
await import('./reasons.test.js');
export {};
