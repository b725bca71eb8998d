// `npm start`: makes what is not fresh, then runs the sandbox in the same process: a second one would take longer than the check.
// The pages and the client are made while the sandbox starts.
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { startBuild } from './build.mjs';

const { commands, all } = startBuild();
if (!(await commands)) process.exit(1);
void all.then((isMade) => isMade || process.exit(1));
// Compiled code of the last start, where this Node can keep it (22.8 and later).
module.enableCompileCache?.(fileURLToPath(new URL('../node_modules/.cache/diamond-gateway/code', import.meta.url)));
const program = new URL('../dist/app/cli.js', import.meta.url);
process.argv.splice(1, 1, fileURLToPath(program), 'sandbox');
await import(program.href);
