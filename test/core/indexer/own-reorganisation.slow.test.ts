// The same at every depth.
await import('./own-reorganisation.test.js');
export {};
