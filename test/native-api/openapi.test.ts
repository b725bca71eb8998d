import { z } from 'zod';
import { CATALOGUE } from '../../core/errors.js';
import { errorsOf } from '../../native-api/operation.js';
import { documentedPath, openApiDocument } from '../../native-api/openapi.js';
import { OPERATIONS } from '../../native-api/operations/index.js';
import { isRecord, resolve } from '../harness/checks/json-schema.js';
import { checkReply } from '../harness/checks/openapi-check.js';

const document = openApiDocument(OPERATIONS, 'X-Service-');
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

function* nodesOf(node: unknown): Generator<Record<string, unknown>> {
  if (Array.isArray(node)) for (const item of node) yield* nodesOf(item);
  if (!isRecord(node)) return;
  yield node;
  for (const value of Object.values(node)) yield* nodesOf(value);
}

describe('the OpenAPI document', () => {
  it('is OpenAPI 3.1 of interface version 1.0.0', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document['info']).toMatchObject({ title: 'Diamond Gateway', version: '1.0.0' });
  });

  it('has every row of the registry, and nothing else', () => {
    expect(operations.map(({ path, method, operation }) => [operation.operationId, method, path]).sort()).toEqual(
      OPERATIONS.map((row) => [row.id, row.method.toLowerCase(), documentedPath(row)]).sort(),
    );
    expect(new Set(OPERATIONS.map(({ id }) => id)).size).toBe(OPERATIONS.length);
  });

  it('refers only to what it holds', () => {
    const references = [...nodesOf(document)].flatMap(({ $ref }) => (typeof $ref === 'string' ? [$ref] : []));
    expect(references.length).toBeGreaterThan(0);
    for (const reference of references) expect(resolve(document, reference)).toBeDefined();
  });

  it('declares exactly the parameters its paths have, each once', () => {
    for (const { path, operation } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = operation.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
      expect(declared).toEqual(inPath);
      const all = operation.parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
      expect(new Set(all).size).toBe(all.length);
      for (const { schema } of operation.parameters) expect(isRecord(schema)).toBe(true);
    }
  });

  it('uses only security schemes it declares, and none for public reads', () => {
    const schemes = Object.keys(document.components['securitySchemes'] as object);
    for (const { operation } of operations) {
      for (const alternative of operation['security'] as Record<string, unknown>[])
        for (const name of Object.keys(alternative)) expect(schemes).toContain(name);
      const row = OPERATIONS.find(({ id }) => id === operation.operationId);
      expect((operation['security'] as unknown[]).length).toBe(
        row?.auth === 'reader' || row?.auth === 'optional' ? 2 : row?.auth === 'agent' ? 1 : 0,
      );
    }
  });

  it('documents every error a row can answer under its status, with the Error shape and the rate headers', () => {
    for (const row of OPERATIONS) {
      const { operation } = operations.find((each) => each.operation.operationId === row.id) ?? {};
      for (const code of errorsOf(row)) {
        const response = operation?.responses[String(CATALOGUE[code].status)];
        expect(JSON.stringify(response)).toContain(`"${code}"`);
        expect(JSON.stringify(response)).toContain('#/components/schemas/Error');
        expect(Object.keys((response as unknown as { headers: object }).headers)).toEqual(
          expect.arrayContaining(['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'X-Request-Id', 'cf-ray']),
        );
      }
    }
  });

  it('lets no reply and no request have a field that is not written down', () => {
    for (const node of nodesOf(document))
      if (node['type'] === 'object' && isRecord(node['properties']) && node !== document.components.schemas['Error'])
        expect([node['additionalProperties'], JSON.stringify(node).slice(0, 200)]).toEqual([false, expect.anything()]);
  });

  it('has patterns that JSON Schema engines accept', () => {
    const patterns = [...nodesOf(document)].flatMap(({ pattern }) => (typeof pattern === 'string' ? [pattern] : []));
    for (const pattern of patterns) expect(() => new RegExp(pattern, 'u')).not.toThrow();
    // Generators of other languages know neither property escapes nor lookaround nor back references.
    expect(patterns.filter((pattern) => /\\[pPkuU1-9]|\(\?[^:]/.test(pattern))).toEqual([]);
  });
});

describe('the check of replies against the document', () => {
  const health = { status: 'ok', chains: [], mode: 'sandbox', version: '1', commit: 'c' };

  it('lets a documented reply pass', () => {
    checkReply('health', 200, health);
    checkReply('health', 429, { code: 'RATE_LIMITED', message: 'later', details: { scope: 'ip' } });
  });

  it.each([
    ['an undocumented field', 200, { ...health, extra: 1 }, 'health 200 breaks'],
    ['a missing field', 200, { status: 'ok' }, 'missing'],
    ['a wrong type', 200, { ...health, chains: 'all' }, 'is not "array"'],
    ['an undocumented status', 418, health, 'documents no status 418'],
    ['an error code of another status', 429, { code: 'INTERNAL', message: '' }, 'breaks'],
    ['an error with a field of its own', 429, { code: 'RATE_LIMITED', message: '', stack: 'x' }, 'breaks'],
  ])('refuses %s', (_what, status, body, complaint) => {
    expect(() => checkReply('health', status, body)).toThrow(complaint);
  });
});

describe('every row', () => {
  it.each(OPERATIONS.map((row) => [row.id, row] as const))('%s refuses unknown fields in what it takes', (_id, { body, query }) => {
    for (const schema of [body, query]) {
      if (schema === undefined) continue;
      const printed = z.toJSONSchema(schema, { io: 'input' });
      for (const node of nodesOf(printed))
        if (node['type'] === 'object' && isRecord(node['properties'])) expect(node['additionalProperties']).toBe(false);
    }
  });
});
