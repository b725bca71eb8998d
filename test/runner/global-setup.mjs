import { startTestCluster } from '../harness/test-cluster.ts';

export default async function setUp() {
  globalThis.stopTestCluster = await startTestCluster(process.env);
}
