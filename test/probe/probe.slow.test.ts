import { startTestSandbox } from '../harness/sandbox.js';
import { closeOddHosts, oddHost } from './odd-hosts.js';
import { environmentOf, probe, verdicts } from './probe-run.js';

describe('a probe of hosts that take every question and answer none', () => {
  it('ends in less than a minute, and has looked at the others', async () => {
    const sandbox = await startTestSandbox();
    try {
      const silent = await oddHost('http://127.0.0.1:1', () => true);
      const hosts = { BACKEND_URL_ARBITRUM_SEPOLIA: silent, PRICING_URL: silent, GLOBAL_URL: silent };
      const started = performance.now();
      const { code, findings } = await probe({ ...environmentOf(sandbox), ...hosts });
      expect(performance.now() - started).toBeLessThan(60_000);
      expect(verdicts(findings)).toMatchObject({
        'arbitrum-sepolia node: chain id': 'ok',
        'arbitrum-sepolia Diamond: functions': 'ok',
        'arbitrum-sepolia backend: trading variables': 'unreachable',
        'pricing: charts': 'unreachable',
        'history: history of chain 421614': 'unreachable',
      });
      expect(code).toBe(2);
    } finally {
      await closeOddHosts();
      await sandbox.stop();
    }
  });
});
