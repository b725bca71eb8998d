// Runs before anything is compiled or loaded, so it uses only syntax that every Node version has.
import { existsSync } from 'node:fs';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `Diamond Gateway needs Node 20.19 or newer; this is ${process.versions.node}. Install Node 26 from https://nodejs.org, or with nvm: nvm install 26`,
  );
  process.exit(1);
}
if (!existsSync(new URL('../node_modules/express', import.meta.url))) {
  console.error('The dependencies are not installed: run `npm ci` first.');
  process.exit(1);
}
if (process.argv.includes('--built') && !existsSync(new URL('../dist/app/cli.js', import.meta.url))) {
  console.error('The gateway is not built: run `npm run build` first.');
  process.exit(1);
}
