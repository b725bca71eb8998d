import type { Router } from 'express';
import { createAlertWebhook } from '../../core/adapters/telemetry/alert-webhook.js';
import { createPromMetrics } from '../../core/adapters/telemetry/prom-metrics.js';
import type { Config } from '../../core/config/config.js';
import type { Gateway } from '../../core/gateway.js';
import { createMetricsCollector } from '../../core/observability/metrics-collect.js';
import { deliverAlerts } from '../../core/observability/alerts/deliver.js';
import { recordBalances } from '../../core/observability/record-balances.js';
import { watchAlerts } from '../../core/observability/alerts/watch.js';
import { readStrictJson } from '../../http/strict-json.js';
import { metricsRouter } from '../../relayer/operator/metrics-routes.js';
import { operatorRouter } from '../../relayer/operator/operator-access.js';
import { OPERATOR_ROUTES } from '../../relayer/operator/operator-routes.js';

/** The routers for the operator: operator routes and metrics. */
export const operatorRouters = (gateway: Gateway, { operator }: Config): readonly Router[] => [
  operatorRouter({ gateway, alerting: operator.alerts, token: operator.token, routes: OPERATOR_ROUTES, readJson: readStrictJson }),
  metricsRouter({ settings: operator, render: createPromMetrics(createMetricsCollector(gateway, process.versions.node), gateway.clock) }),
];

/** Watches wallets, lanes and nodes, records balances, and delivers alerts if a webhook is configured. */
export function runAlerts(gateway: Gateway, { operator: { alerts } }: Config): () => void {
  const stops = [watchAlerts(gateway, alerts), recordBalances(gateway)];
  if (alerts.webhook !== null) {
    const { store, clock, log } = gateway;
    stops.push(deliverAlerts({ store: store.alerts, post: createAlertWebhook({ ...alerts.webhook, clock }), clock, log }));
  }
  return () => stops.forEach((stop) => stop());
}
