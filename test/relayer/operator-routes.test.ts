import express, { type ErrorRequestHandler } from 'express';
import supertest from 'supertest';
import { z } from 'zod';
import { GatewayError } from '../../core/errors.js';
import type { Gateway } from '../../core/gateway.js';
import type { AlertSettings } from '../../core/config/operator.js';
import { operatorRoute } from '../../relayer/operator/operator-route.js';
import { metricsRouter, operatorRouter } from '../../relayer/operator/operator-routes.js';

const answerErrors: ErrorRequestHandler = (error, _request, response, next) => {
  if (!(error instanceof GatewayError)) return next(error);
  response.status(error.status).json({ code: error.code, details: error.details });
};

describe("the body of an operator's request", () => {
  const Body = z.strictObject({ wait: z.number() }).optional();
  const echo = operatorRoute({ method: 'POST', path: '/echo', body: Body, handle: ({ body }) => ({ body: body ?? 'none' }) });
  const routes = operatorRouter({
    gateway: {} as Gateway,
    alerting: {} as AlertSettings,
    token: () => 'secret',
    routes: [echo],
    readJson: (bytes) => JSON.parse(Buffer.from(bytes).toString()) as unknown,
  });
  const app = express()
    .use(express.raw({ type: () => true }))
    .use(routes)
    .use(answerErrors);
  const post = (body: string): supertest.Test =>
    supertest(app).post('/relayer/echo').set('Authorization', 'Bearer secret').set('Content-Type', 'application/json').send(body);

  it('may be empty where the route allows it', async () => {
    expect((await post('')).body).toEqual({ body: 'none' });
    expect((await post('{"wait":1}')).body).toEqual({ body: { wait: 1 } });
  });

  it('is read and checked however short it is, and all its faults are named', async () => {
    const { status, body } = await post('7');
    expect([status, body]).toEqual([400, { code: 'VALIDATION_ERROR', details: { issues: [{ path: '', message: expect.any(String) }] } }]);
    const wrong = (await post('{"wait":"1","more":2}')).body as { details: { issues: readonly { path: string }[] } };
    expect(wrong.details.issues.map(({ path }) => path)).toEqual(['wait', '']);
  });
});

describe('the path of the metrics', () => {
  const settings = { token: null, metricsToken: null, areMetricsPublic: true };
  const render = () => Promise.resolve({ type: 'text/plain', bytes: Buffer.from('up 1') });
  const app = express().use(metricsRouter({ settings, render }));

  it.each([
    ['/metrics', 200],
    ['/metrics/', 404],
    ['/METRICS', 404],
  ])('%s is answered with %i', async (path, status) => {
    expect((await supertest(app).get(path)).status).toBe(status);
  });
});
