import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

/** Hosts between the probe and the sandbox that say something else than the truth, on real ports: `afterAll(closeOddHosts)`. */

const open: { readonly server: Server; readonly sockets: Set<Socket> }[] = [];

export async function closeOddHosts(): Promise<void> {
  for (const { server, sockets } of open.splice(0)) {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

async function serve(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<{ server: Server; url: string }> {
  const server = createServer(handler);
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push({ server, sockets });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** The address of a port on which no process listens. */
export async function deadHost(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params?: readonly unknown[];
}

/** What a node says instead of the truth; undefined = the truth. */
export type Lie = (
  method: string,
  params: readonly unknown[],
) => { result: unknown } | { error: { code: number; message: string } } | undefined;

/** A node that lies about some things; `batches: false` refuses more than one call in a request. */
export async function oddNode(target: string, lie: Lie, { batches = true } = {}): Promise<string> {
  const { url } = await serve((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => void answer(Buffer.concat(parts).toString(), response));
  });
  const replyTo = async (call: Call): Promise<unknown> => {
    const lied = lie(call.method, call.params ?? []);
    if (lied) return { jsonrpc: '2.0', id: call.id, ...lied };
    const truth = await fetch(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(call) });
    return truth.json();
  };
  const answer = async (text: string, response: ServerResponse): Promise<void> => {
    const body = JSON.parse(text) as Call | Call[];
    response.setHeader('content-type', 'application/json');
    if (!Array.isArray(body)) return void response.end(JSON.stringify(await replyTo(body)));
    const refusal = { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'batch requests are not enabled' } };
    response.end(JSON.stringify(batches ? await Promise.all(body.map(replyTo)) : refusal));
  };
  return url;
}

/** Answers a request in the host's place when it returns true. */
export type Handle = (path: string, response: ServerResponse, truth: () => Promise<unknown>) => boolean | Promise<boolean>;

/** A host that answers some paths itself and hands on the others, sockets included. */
export async function oddHost(target: string, handle: Handle): Promise<string> {
  const { host, pathname, hostname, port } = new URL(target);
  const prefix = pathname.replace(/\/+$/, '');
  const pass = async (path: string, response: ServerResponse): Promise<void> => {
    const truth = async (): Promise<unknown> => (await fetch(`http://${host}${prefix}${path}`)).json();
    if (await handle(path, response, truth)) return;
    json(response, await truth());
  };
  const { server, url } = await serve((request, response) => void pass(request.url ?? '/', response));
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const path = (request.url ?? '/') === '/' ? prefix || '/' : `${prefix}${request.url ?? ''}`;
    const headers = Array.from({ length: request.rawHeaders.length / 2 }, (_, at) =>
      request.rawHeaders.slice(2 * at, 2 * at + 2).join(': '),
    );
    const onward = connect(Number(port), hostname, () => {
      onward.write([`GET ${path} HTTP/1.1`, ...headers, '', ''].join('\r\n'));
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    socket.on('close', () => onward.destroy());
  });
  return url;
}

export function json(response: ServerResponse, body: unknown, status = 200, headers: Record<string, string> = {}): true {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  return true;
}
