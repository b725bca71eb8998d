import { banner } from './banner.js';
import type { Ground } from './ground.js';
import { assembleSandbox, type AssembleOptions } from './assemble.js';

/** What `sandbox/main.ts` loads while the database server starts. */
export async function runSandbox(options: Omit<AssembleOptions, 'write'>, ground: Ground): Promise<void> {
  const write = (text: string): void => void process.stdout.write(text);
  const { url, controls, publicToken } = await assembleSandbox({ ...options, write }, ground);
  write(`${banner(url, controls, publicToken)}\n`);
}
