import { assembleSandbox, type AssembleOptions, type Sandbox } from './assemble.js';
import { layGround } from './ground.js';

/** The whole sandbox in one call, where every module is loaded already. Apart from `run.ts`, so that the bundle of `main.ts` keeps the ground to itself. */
export async function startSandbox(options: AssembleOptions): Promise<Sandbox> {
  return assembleSandbox(options, await layGround(options));
}
