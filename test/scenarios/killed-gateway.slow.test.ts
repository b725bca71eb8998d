// The same with more deaths.
await import('./killed-gateway.test.js');
export {};
