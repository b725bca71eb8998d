import type { Router } from 'express';
import { createAlertWebhook } from '../../core/adapters/telemetry/alert-webhook.js';
import { createPromMetrics } from '../../core/adapters/telemetry/prom-metrics.js';
import type { Config } from '../../core/config/config.js';
import type { Gateway } from '../../core/gateway.js';
import { createMetricsCollector } from '../../core/observability/metrics-collect.js';
import { deliverAlerts } from '../../core/observability/alerts/deliver.js';
import { watchAlerts } from '../../core/observability/alerts/watch.js';
import { readStrictJson } from '../../http/strict-json.js';
import { metricsRouter } from '../../relayer/operator/metrics-routes.js';
import { operatorRouter } from '../../relayer/operator/operator-access.js';
import { OPERATOR_ROUTES } from '../../relayer/operator/operator-routes.js';

/** The routers for the operator: operator routes and metrics. */
export const operatorRouters = (gateway: Gateway, { operator }: Config): readonly Router[] => [
  operatorRouter({ gateway, token: operator.token, routes: OPERATOR_ROUTES, readJson: readStrictJson }),
  metricsRouter({ settings: operator, render: createPromMetrics(createMetricsCollector(gateway, process.versions.node), gateway.clock) }),
];

/** Watches wallets, lanes and nodes, and delivers alerts if a webhook is configured. */
export function runAlerts(gateway: Gateway, { operator: { alerts } }: Config): () => void {
  const stopWatching = watchAlerts(gateway, alerts);
  if (alerts.webhook === null) return stopWatching;
  const stopDelivering = deliverAlerts({
    store: gateway.store.alerts,
    post: createAlertWebhook(alerts.webhook),
    clock: gateway.clock,
    log: gateway.log,
  });
  return () => {
    stopWatching();
    stopDelivering();
  };
}
