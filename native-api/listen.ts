import { createServer, type Server } from 'node:http';
import type { Express } from 'express';

export interface Listening {
  readonly url: string;
  /** Stops accepting, lets requests under way finish for a moment, then cuts what is left. */
  close(): Promise<void>;
}

const DRAIN_MS = 3_000;

/** Ended by one clear sentence when the address cannot be had. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

export async function listen(app: Express, host: string, port: number): Promise<Listening> {
  const server = createServer(app);
  await bind(server, host, port);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new ListenError('The HTTP server has no port.');
  return { url: `http://${urlHost(host)}:${address.port}`, close: () => drain(server) };
}

const urlHost = (host: string): string => (host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host);

function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(new ListenError(refusal(error, host, port), { cause: error })));
    server.listen(port, host, () => resolve());
  });
}

function refusal(error: NodeJS.ErrnoException, host: string, port: number): string {
  if (error.code === 'EADDRINUSE') return `Port ${port} on ${host} is in use; set PORT to another one, or to 0 for any free one.`;
  if (error.code === 'EACCES') return `Port ${port} needs rights this process does not have; set PORT to one above 1023.`;
  return `Cannot listen on ${host}:${port}: ${error.code ?? error.message}.`;
}

async function drain(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const cut = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearTimeout(cut);
}
