import { createServer } from 'node:http';

/** What a provider says to one call; undefined breaks the connection for the whole request. */
export type Speak = (
  method: string,
  params: readonly unknown[],
) => { result: unknown } | { error: { code: number; message: string } } | undefined;

export interface JsonRpcNode {
  readonly url: string;
  /** Calls of each request, in the order of arrival. */
  readonly heard: readonly (readonly string[])[];
  /** Calls it takes in one request; more are refused as providers do, with one error for all. */
  batchLimit: number;
  speak: Speak;
  close(): Promise<void>;
}

/** A provider of our own making on a real port, for answers that no real node would give. */
export async function startJsonRpcNode(speak: Speak): Promise<JsonRpcNode> {
  const heard: string[][] = [];
  const node = { heard, speak, batchLimit: 1_000 };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(parts).toString()) as Call | Call[];
      const calls = Array.isArray(body) ? body : [body];
      heard.push(calls.map(({ method }) => method));
      const answers =
        calls.length > node.batchLimit ? null : calls.map(({ id, method, params }) => [id, node.speak(method, params ?? [])] as const);
      if (answers?.some(([, answer]) => answer === undefined)) return void request.socket.resetAndDestroy();
      const reply = answers?.map(([id, answer]) => ({ jsonrpc: '2.0', id, ...answer })) ?? { jsonrpc: '2.0', id: null, error: TOO_MANY };
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(Array.isArray(body) || !Array.isArray(reply) ? reply : reply[0]));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the provider has no port');
  return Object.assign(node, {
    url: `http://127.0.0.1:${address.port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params?: readonly unknown[];
}

const TOO_MANY = { code: -32600, message: 'batch of too many calls' };
