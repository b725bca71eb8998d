// The same at every depth.
await import('./level-orders.test.js');
export {};
