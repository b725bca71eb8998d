import express, { type Router } from 'express';
import type { OperatorSettings } from '../../core/config/operator.js';
import { operatorGuard, refuseForeignPages } from './operator-guard.js';

export interface MetricsAccessOptions {
  readonly settings: Pick<OperatorSettings, 'token' | 'metricsToken' | 'areMetricsPublic'>;
  readonly render: () => Promise<{ readonly type: string; readonly bytes: Buffer }>;
}

/** `GET /metrics`: requires the metrics token, or the operator's token if there is none, unless metrics are public. */
export function metricsRouter({ settings, render }: MetricsAccessOptions): Router {
  const { areMetricsPublic } = settings;
  const token = settings.metricsToken ?? settings.token;
  const router = express.Router({ strict: true, caseSensitive: true });
  if (token === null && !areMetricsPublic) return router;
  if (token !== null && !areMetricsPublic) router.use('/metrics', refuseForeignPages, operatorGuard(token()));
  router.get('/metrics', async (_request, response) => {
    const { type, bytes } = await render();
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('Content-Type', type);
    response.setHeader('Content-Length', bytes.length);
    response.end(bytes);
  });
  return router;
}
