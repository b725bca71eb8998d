import http from 'node:http';
import type { Clock } from '../../../core/ports/clock.js';

export interface HttpAnswer {
  readonly status: number;
  readonly body: unknown;
  /** Null: the answer does not ask for patience. */
  readonly retryAfterMs: number | null;
}

export interface HttpRequest {
  readonly url: string;
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** Null: no complete answer came, because the connection broke or the client's patience ended. */
export function ask(clock: Clock, { url, method, headers = {}, body }: HttpRequest, patienceMs = 15_000): Promise<HttpAnswer | null> {
  return new Promise((resolve) => {
    const request = http.request(url, { method, headers: { ...headers }, agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', () => finish(null));
      response.on('close', () => finish(null));
      response.on('end', () =>
        finish({
          status: response.statusCode ?? 0,
          body: parse(Buffer.concat(parts).toString()),
          retryAfterMs: response.headers['retry-after'] === undefined ? null : Number(response.headers['retry-after']) * 1_000,
        }),
      );
    });
    const cancel = clock.after(patienceMs, () => finish(null));
    const finish = (answer: HttpAnswer | null): void => {
      cancel();
      resolve(answer);
      if (answer === null) request.destroy();
    };
    request.on('error', () => finish(null));
    request.on('close', () => finish(null));
    if (body !== undefined) request.setHeader('Content-Length', Buffer.byteLength(body));
    request.end(body);
  });
}

/** A service that asks for more patience than this has lost commits. */
const LONG_MS = 5_000;
export const asksForPatience = ({ status, retryAfterMs }: HttpAnswer): boolean => status === 503 && (retryAfterMs ?? 0) > LONG_MS;

export const postJson = (clock: Clock, url: string, body: unknown, patienceMs?: number): Promise<HttpAnswer | null> =>
  ask(clock, { url, method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }, patienceMs);

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
