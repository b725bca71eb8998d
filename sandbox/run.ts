import { banner } from './banner.js';
import { layGround, type Ground } from './ground.js';
import { assembleSandbox, type AssembleOptions, type Sandbox } from './assemble.js';

/** What `sandbox/main.ts` loads while the database server starts. */
export async function runSandbox(options: Omit<AssembleOptions, 'write'>, ground: Ground): Promise<void> {
  const write = (text: string): void => void process.stdout.write(text);
  const { url, controls, publicToken } = await assembleSandbox({ ...options, write }, ground);
  write(`${banner(url, controls, publicToken)}\n`);
}

/** The whole sandbox in one call, where every module is loaded already. */
export async function startSandbox(options: AssembleOptions): Promise<Sandbox> {
  return assembleSandbox(options, await layGround(options));
}
