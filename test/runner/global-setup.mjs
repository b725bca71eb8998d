import { startTestServer } from '../harness/database/test-server.ts';

export default async function setUp() {
  globalThis.stopTestServer = await startTestServer(process.env);
}
