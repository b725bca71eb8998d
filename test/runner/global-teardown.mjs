import { endRun } from './end-of-run.ts';

export default async function tearDown() {
  await endRun(); // where the tests ran in this process
  await globalThis.stopTestServer();
}
