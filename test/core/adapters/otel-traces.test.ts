import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { Writable } from 'node:stream';
import { createLogger, createRequestScopes } from '../../../core/adapters/telemetry/log.js';
import { openOtelTraces, type OtelTraces } from '../../../core/adapters/telemetry/otel-traces.js';
import { systemClock } from '../../../core/adapters/system/clock.js';
import type { Clock } from '../../../core/ports/clock.js';
import { traceSettings, TRACING_VARIABLES, type TraceSettings } from '../../../core/config/operator.js';
import { z } from 'zod';
import { startOtlpReceiver } from '../../harness/servers/otlp-receiver.js';

const settingsOf = (given: Record<string, string>): TraceSettings | null => traceSettings(z.object(TRACING_VARIABLES).parse(given));

function tracesTo(url: string, given: Record<string, string> = {}, clock: Pick<Clock, 'sleep'> = systemClock): OtelTraces {
  const settings = settingsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ...given });
  if (settings === null) throw new Error('no traces are wanted');
  return openOtelTraces({ settings, version: '1', clock });
}

/** The end of the traces is not limited by time. */
const UNLIMITED: Pick<Clock, 'sleep'> = { sleep: () => new Promise(() => undefined) };

describe('traces', () => {
  it('are sent before the end, and a collector that keeps silent delays the end by a second at most', async () => {
    const good = await startOtlpReceiver();
    const traces = tracesTo(`${good.url}/`);
    traces.tracer.begin('the last one').end();
    await traces.close();
    expect(good.spans().map(({ name }) => name)).toEqual(['the last one']);
    await good.stop();
    const silent = await startOtlpReceiver({ answers: false });
    const waits: number[] = [];
    // The second passes as soon as the collector has the spans.
    const sleep: Clock['sleep'] = (ms) => {
      waits.push(ms);
      return silent.requested;
    };
    const held = tracesTo(silent.url, {}, { sleep });
    held.tracer.begin('never answered').end();
    await held.close();
    expect(waits).toEqual([1_000]);
    expect(silent.open()).toBe(1);
    await silent.stop();
  });

  it('beyond those that wait to be sent are dropped', async () => {
    const collector = await startOtlpReceiver();
    const traces = tracesTo(collector.url, {}, UNLIMITED);
    for (let at = 0; at < 5_000; at += 1) traces.tracer.begin('one of many').end();
    await traces.close();
    // A full queue, and the batch that was taken from it before.
    expect(collector.spans()).toHaveLength(2_048 + 512);
    await collector.stop();
  });

  it('to a collector that is gone do not make the end fail', async () => {
    const gone = await startOtlpReceiver();
    await gone.stop();
    const traces = tracesTo(gone.url, {}, UNLIMITED);
    traces.tracer.begin('never sent').end();
    await expect(traces.close()).resolves.toBeUndefined();
  });

  it.each([
    [{ OTEL_TRACES_SAMPLER: 'always_off' }, 0],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }, 0],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }, 1],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, 1],
    [{}, 2],
  ])('are sampled as %p says: %i of two, one with a parent and one without', async (sampler, count) => {
    const collector = await startOtlpReceiver();
    const traces = tracesTo(collector.url, sampler);
    traces.tracer.begin('asked for', { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }).end();
    traces.tracer.begin('our own').end();
    await traces.close();
    expect(collector.spans()).toHaveLength(count);
    await collector.stop();
  });

  it.each([
    [{}, null],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'true' }, null],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, 'http://c:4318/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://t/x' }, 'https://t/x'],
  ])('go where %p says', (given: Record<string, string>, url) => expect(settingsOf(given)?.url() ?? null).toBe(url));

  it('are not even loaded where no collector is configured', () => {
    const root = path.resolve(import.meta.dirname, '../../..');
    const script = `
      import { createRequire } from 'node:module';
      const { cache } = createRequire(import.meta.url);
      // The library of metrics loads the bare interface for itself.
      const loaded = () => Object.keys(cache).filter((file) => /@opentelemetry\\/(?!api\\/)/.test(file)).length;
      await import('${root}/app/compose/gateway.ts');
      const before = loaded();
      await import('${root}/core/adapters/telemetry/otel-traces.ts');
      console.log(JSON.stringify({ before, after: loaded() > 0 }));
      process.exit(0);`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], { encoding: 'utf8' });
    expect([stdout.trim(), stderr]).toEqual(['{"before":0,"after":true}', '']);
  });

  it('are refused with every wrong setting named, and no value of them', () => {
    const read = z.object(TRACING_VARIABLES).safeParse({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'ftp://c',
      OTEL_EXPORTER_OTLP_HEADERS: 'secret',
      OTEL_TRACES_SAMPLER: 'sometimes',
      OTEL_TRACES_SAMPLER_ARG: '2',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    });
    expect(read.error?.issues.map(({ path: [name] }) => name).sort()).toEqual([
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'OTEL_EXPORTER_OTLP_HEADERS',
      'OTEL_EXPORTER_OTLP_PROTOCOL',
      'OTEL_TRACES_SAMPLER',
      'OTEL_TRACES_SAMPLER_ARG',
    ]);
    expect(JSON.stringify(read.error?.issues.map(({ message }) => message))).not.toContain('secret');
  });
});

describe('a request that is followed', () => {
  it('has its name on the lines of everything it waits for, and on no others', async () => {
    let written = '';
    const sink = new Writable({
      write(chunk: Buffer, _encoding, done) {
        written += chunk.toString();
        done();
      },
    });
    const log = createLogger('debug', sink);
    const scopes = createRequestScopes({ log, clock: systemClock, tracer: null });
    const scope = scopes.open({ api: 'native', transport: 'http', method: 'GET' });
    const other = scopes.open({ api: 'facade', transport: 'http', method: 'POST' });
    await Promise.all([
      scope.run('first', async () => {
        await systemClock.sleep(1);
        log.child({ chain: 'base' }).warn('deep.inside');
      }),
      other.run('second', async () => {
        await systemClock.sleep(1);
        log.info('named.itself', { requestId: 'of its own' });
      }),
    ]);
    log.info('outside');
    scope.close('listMarkets', 200);
    const lines = written.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { event: 'deep.inside', chain: 'base', requestId: 'first' },
      { event: 'named.itself', requestId: 'of its own' },
      { event: 'outside' },
      { event: 'request.answered', requestId: 'first', operation: 'listMarkets', status: 200 },
    ]);
    expect(lines[2]).not.toContain('requestId');
  });
});
