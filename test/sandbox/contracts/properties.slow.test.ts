// The same with more seeds.
await import('./properties.test.js');
export {};
