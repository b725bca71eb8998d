import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';

/** The sandbox's Solidity sources and compiler settings, which the committed artefact must match. */

export const SOURCES_FOLDER = new URL('../sandbox/contracts/', import.meta.url);

export const COMPILER_VERSION = '0.8.37';

export const COMPILER_SETTINGS = {
  optimizer: { enabled: true, runs: 200 },
  viaIR: true,
  evmVersion: 'cancun',
  metadata: { bytecodeHash: 'none', appendCBOR: false },
  outputSelection: { '*': { '*': ['abi', 'evm.deployedBytecode.object', 'evm.methodIdentifiers'] } },
} as const;

/** Source name, as imports resolve it, to text; sorted, so that the folder's order does not matter. */
export function readSources(): ReadonlyMap<string, string> {
  const names = ['', 'lib/', 'facets/'].flatMap((folder) =>
    readdirSync(new URL(folder, SOURCES_FOLDER))
      .filter((name) => name.endsWith('.sol'))
      .map((name) => `${folder}${name}`),
  );
  return new Map(names.sort().map((name) => [name, readFileSync(new URL(name, SOURCES_FOLDER), 'utf8')]));
}

export function sourcesHash(): string {
  const hash = createHash('sha256').update(JSON.stringify([COMPILER_VERSION, COMPILER_SETTINGS]));
  for (const [name, text] of readSources()) hash.update(`\n${name}\n${text}`);
  return hash.digest('hex');
}
