// The same, torn at every byte and killed three times.
await import('./persistence.test.js');
export {};
