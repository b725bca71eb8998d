import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly startMs: number;
  readonly endMs: number;
}

export interface OtlpReceiver {
  readonly url: string;
  /** Resolves when the first request has arrived as a whole. */
  readonly requested: Promise<void>;
  /** Requests that the client still waits for. */
  open(): number;
  spans(): readonly SeenSpan[];
  /** Everything that was ever sent, headers included. */
  everything(): string;
  stop(): Promise<void>;
}

interface WireSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

interface WireBatch {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[] }[];
}

/** A collector that keeps what it is sent; `answers: false` takes connections and says nothing. */
export async function startOtlpReceiver({ answers = true } = {}): Promise<OtlpReceiver> {
  const batches: { readonly headers: string; readonly body: string }[] = [];
  const open = new Set<ServerResponse>();
  let arrived: () => void = () => undefined;
  const requested = new Promise<void>((resolve) => (arrived = resolve));
  const server = createServer((request, response) => {
    open.add(response);
    response.on('close', () => open.delete(response));
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      arrived();
      if (!answers) return;
      batches.push({ headers: `${request.url} ${JSON.stringify(request.headers)}`, body: Buffer.concat(chunks).toString() });
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requested,
    open: () => open.size,
    spans: () => batches.flatMap(({ body }) => spansIn(JSON.parse(body) as WireBatch)),
    everything: () => batches.map(({ headers, body }) => `${headers}\n${body}`).join('\n'),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const spansIn = ({ resourceSpans }: WireBatch): SeenSpan[] =>
  resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map(seen)));

const seen = ({ name, traceId, spanId, parentSpanId, startTimeUnixNano, endTimeUnixNano, attributes = [] }: WireSpan): SeenSpan => ({
  name,
  traceId,
  spanId,
  parentSpanId: parentSpanId === undefined || parentSpanId === '' ? null : parentSpanId,
  startMs: Number(BigInt(startTimeUnixNano) / 1_000_000n),
  endMs: Number(BigInt(endTimeUnixNano) / 1_000_000n),
  attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
});
