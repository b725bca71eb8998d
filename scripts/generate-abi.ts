import { writeFileSync } from 'node:fs';
import { parseAbi } from 'viem';
import { DIAMOND_SIGNATURES } from '../core/adapters/evm/diamond-signatures.js';

const target = new URL('../core/adapters/evm/diamond-abi.ts', import.meta.url);
const abi: readonly unknown[] = parseAbi(DIAMOND_SIGNATURES as readonly string[]);
const rows = abi.map((item) => `  ${JSON.stringify(item)},`).join('\n');
writeFileSync(
  target,
  `/** Generated from diamond-signatures.ts by \`npm run abi\`; a test compares the two. */\nexport const diamondAbi = [\n${rows}\n] as const;\n`,
);
