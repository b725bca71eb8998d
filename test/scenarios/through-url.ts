import { checkExchange } from '../harness/checks/openapi-check.js';
import type { Reply, TestVenue } from '../harness/venue/own-venue.js';

/** The same venue, asked through another gateway in front of it. */
export function throughUrl(sandbox: TestVenue, url: () => string): TestVenue {
  const call = async (path: string, init?: RequestInit): Promise<Reply> => {
    const response = await fetch(`${url()}${path}`, init);
    const reply = { status: response.status, headers: response.headers, body: await response.json() };
    checkExchange(init?.method ?? 'GET', path, reply.status, reply.body);
    return reply;
  };
  return {
    ...sandbox,
    call,
    get: (path, headers = {}) => call(path, { headers }),
    post: (path, body, headers = {}) =>
      call(path, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json', ...headers } }),
  };
}
