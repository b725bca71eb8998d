import type { Request } from 'express';
import type { z } from 'zod';
import { GatewayError, type Issue } from '../core/errors.js';
import type { Operation } from './operation.js';

export interface Input {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** What the row's schemas make of a request; every fault of every part is told in one answer. */
export function decodeInput(operation: Operation, request: Request): Input {
  const issues: Issue[] = [];
  const params = decode(operation.params, request.params, '', issues);
  const query = decode(operation.query, request.query, '', issues);
  const body = operation.body === undefined ? undefined : decode(operation.body, parseJson(request.body as unknown), '', issues);
  if (issues.length > 0) throw new GatewayError('VALIDATION_ERROR', { issues });
  return { params, query, body };
}

function decode(schema: z.ZodType | undefined, value: unknown, prefix: string, issues: Issue[]): unknown {
  if (schema === undefined) return undefined;
  const decoded = schema.safeParse(value);
  if (decoded.success) return decoded.data;
  issues.push(
    ...decoded.error.issues.map(({ path, message }) => ({
      path: [prefix, ...path.map(String)].filter((part) => part !== '').join('.'),
      message,
    })),
  );
  return undefined;
}

function parseJson(raw: unknown): unknown {
  if (!Buffer.isBuffer(raw) || raw.length === 0)
    throw new GatewayError('VALIDATION_ERROR', { issues: [{ path: '', message: 'must be a JSON object' }] });
  try {
    return JSON.parse(raw.toString('utf8'));
  } catch {
    throw new GatewayError('VALIDATION_ERROR', { issues: [{ path: '', message: 'is not JSON' }] });
  }
}
