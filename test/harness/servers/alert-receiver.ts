import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedAlert {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly json: {
    readonly id: string;
    readonly event: string;
    readonly alert: { readonly kind: string; readonly chain: string; readonly subject: string };
  };
  readonly isSigned: boolean;
}

export type ReceiverMode = 'take' | 'fail' | 'hang';

export interface AlertReceiver {
  readonly url: string;
  readonly secret: string;
  readonly received: readonly ReceivedAlert[];
  /** Events that were answered with success, by their ids. */
  readonly taken: readonly string[];
  set(mode: ReceiverMode): void;
  close(): Promise<void>;
}

/** An operator's receiver of alerts, as docs/observability.md describes it. */
export async function startAlertReceiver(): Promise<AlertReceiver> {
  const secret = 'the-secret-of-the-webhook';
  const received: ReceivedAlert[] = [];
  const taken: string[] = [];
  const hanging = new Set<ServerResponse>();
  let mode: ReceiverMode = 'take';
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const { headers } = request;
      const signature = createHmac('sha256', secret)
        .update(`${String(headers['x-gateway-timestamp'])}.${body}`)
        .digest('hex');
      const json = JSON.parse(body) as ReceivedAlert['json'];
      received.push({ headers, body, json, isSigned: headers['x-gateway-signature'] === `sha256=${signature}` });
      if (mode === 'hang') return void hanging.add(response);
      if (mode === 'take') taken.push(json.id);
      response.writeHead(mode === 'take' ? 204 : 500).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook/with-a-secret-path`,
    secret,
    received,
    taken,
    set: (next) => void (mode = next),
    close: () =>
      new Promise((resolve) => {
        for (const response of hanging) response.destroy();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
