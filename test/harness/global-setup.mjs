// Jest loads this file itself, before its own transforms and without the `.js` mapping; tsx reads the TypeScript behind it.
import { tsImport } from 'tsx/esm/api';

export default async function setUp() {
  const { startTestCluster } = await tsImport('./test-cluster.ts', import.meta.url);
  globalThis.stopTestCluster = await startTestCluster(process.env);
}
