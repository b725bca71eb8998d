// `npm start`: makes what is not fresh, then runs the sandbox in the same process: a second one would take longer than the check.
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';

if (!(await build())) process.exit(1);
// Compiled code of the last start, where this Node can keep it (22.8 and later).
module.enableCompileCache?.(fileURLToPath(new URL('../node_modules/.cache/diamond-gateway/code', import.meta.url)));
const program = new URL('../dist/app/cli.js', import.meta.url);
process.argv.splice(1, 1, fileURLToPath(program), 'sandbox');
await import(program.href);
