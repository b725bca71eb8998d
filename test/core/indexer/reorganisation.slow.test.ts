// The same with both fates of every kind.
await import('./reorganisation.test.js');
export {};
