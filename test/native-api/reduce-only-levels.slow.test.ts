// The same with each level on both sides.
await import('./reduce-only-levels.test.js');
export {};
