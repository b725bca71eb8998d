// The same, dying at every step.
await import('./lane.test.js');
export {};
