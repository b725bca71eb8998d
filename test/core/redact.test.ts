import { Writable } from 'node:stream';
import { createLogger } from '../../core/adapters/telemetry/log.js';
import { redact, redactText, redactUrl } from '../../core/observability/redact.js';

const key = `0x${'ab'.repeat(32)}`;

describe('what leaves the process', () => {
  it('names an endpoint without its credentials', () => {
    expect(redactUrl('https://rpc.example:8545/v2/abcdef?key=1')).toBe('https://rpc.example:8545/…');
    expect(redactUrl('postgres://gateway:hunter2@db.example/gateway')).toBe('postgres://db.example/…');
    expect(redactUrl('https://user:12/hunter2@rpc.example/')).toBe('[redacted]');
    expect(redactUrl('http://127.0.0.1:8545')).toBe('http://127.0.0.1:8545');
  });

  it('hides keys and URLs inside free text', () => {
    expect(redactText(`request to https://rpc.example/v2/hunter2 failed for ${key}`)).toBe(
      'request to https://rpc.example/… failed for [redacted]',
    );
  });

  it('hides fields by name at any depth', () => {
    const hidden = redact({ a: [{ privateKey: key, apiKey: 'x', password: 'y', signature: { r: '1' }, chain: 'base' }] });
    expect(hidden).toEqual({
      a: [{ privateKey: '[redacted]', apiKey: '[redacted]', password: '[redacted]', signature: '[redacted]', chain: 'base' }],
    });
  });

  it('keeps transaction hashes, amounts and flags', () => {
    expect(redact({ txHash: key, amount: 12n, hasPassword: true })).toEqual({ txHash: key, amount: '12', hasPassword: true });
  });

  it('survives values that contain themselves', () => {
    const loop: Record<string, unknown> = {};
    loop['self'] = loop;
    expect(JSON.stringify(redact(loop))).toContain('[deep]');
  });

  it('is what the logger writes', () => {
    const lines: string[] = [];
    const sink = new Writable({ write: (chunk: Buffer, _encoding, done) => (lines.push(chunk.toString()), done()) });
    const log = createLogger('info', sink).child({ authorization: 'Bearer hunter2' });
    log.debug('too.quiet');
    log.error('rpc.failed', {
      error: new Error(`POST https://rpc.example/hunter2 with ${key}`, { cause: new Error('password=…') }),
      secret: 'hunter2',
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toContain('hunter2');
    expect(lines[0]).not.toContain('abab');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'error',
      event: 'rpc.failed',
      error: { message: 'POST https://rpc.example/… with [redacted]' },
    });
  });
});
