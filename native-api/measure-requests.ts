import type { RequestListener } from 'node:http';
import type { Metrics } from '../core/metrics.js';

/** nginx's number for a client that went away before it was answered. */
const CLIENT_GONE = 499;

/** Counts every request by what it was for, how it was answered and how long that took. */
export const measureRequests =
  (metrics: Metrics, nameOf: (method: string, url: string) => string, listener: RequestListener): RequestListener =>
  (request, response) => {
    const since = performance.now();
    const { method = '', url = '' } = request;
    response.once('close', () => {
      const status = response.headersSent ? response.statusCode : CLIENT_GONE;
      metrics.request('native', nameOf(method, url), status, performance.now() - since);
    });
    listener(request, response);
  };
