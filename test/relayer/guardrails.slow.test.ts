// The same with a replica that starts anew.
await import('./guardrails.test.js');
export {};
