import type { Request } from 'express';
import { z } from 'zod';
import { GatewayError, type Issue } from '../core/errors.js';
import type { Operation } from './operation.js';
import { bodyOf } from '../http/read-body.js';
import { MAX_ISSUES, readStrictJson } from '../http/strict-json.js';

export interface Input {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** An operation without a query schema accepts none: a misspelt parameter must not be dropped silently. */
const NO_QUERY = z.strictObject({});

/** Decodes a request with the operation's schemas; one reply reports every fault of every part. */
export function decodeInput(operation: Operation, request: Request): Input {
  const issues: Issue[] = [];
  const params = decode(operation.params, without(request.params, 'chain'), issues);
  const query = decode(operation.query ?? NO_QUERY, request.query, issues);
  const body = decodeBody(operation, request, issues);
  if (issues.length > 0) throw new GatewayError('VALIDATION_ERROR', { issues: issues.slice(0, MAX_ISSUES) });
  return { params, query, body };
}

function decodeBody(operation: Operation, request: Request, issues: Issue[]): unknown {
  const bytes = bodyOf(request);
  if (operation.body === undefined) {
    if (bytes.length > 0) issues.push({ path: '', message: 'must be empty: this operation takes no body' });
    return undefined;
  }
  if (bytes.length === 0) return decodeNothing(operation.body, issues);
  if (!saysJson(request.headers['content-type']))
    return void issues.push({ path: '', message: 'must be sent with Content-Type: application/json' });
  return decode(operation.body, readStrictJson(bytes), issues);
}

/** A body whose fields are all optional may be omitted itself, if its schema allows it. */
function decodeNothing(schema: z.ZodType, issues: Issue[]): unknown {
  const decoded = schema.safeParse(undefined);
  return decoded.success ? decoded.data : void issues.push({ path: '', message: 'must be a JSON object' });
}

/** An absent Content-Type is accepted: the parser decides. */
const saysJson = (type: string | undefined): boolean =>
  type === undefined || /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i.test(type.trim());

function decode(schema: z.ZodType | undefined, value: unknown, issues: Issue[]): unknown {
  if (schema === undefined) return undefined;
  const decoded = schema.safeParse(value);
  if (decoded.success) return decoded.data;
  issues.push(...issuesOf(decoded.error));
  return undefined;
}

export const issuesOf = ({ issues }: z.ZodError): Issue[] => issues.flatMap(toIssues);

/** An unknown field is named itself, not the object that contains it. */
function toIssues(issue: z.core.$ZodIssue): Issue[] {
  const path = issue.path.map((part) => readable(String(part)));
  if (issue.code !== 'unrecognized_keys') return [{ path: path.join('.'), message: issue.message }];
  return issue.keys.map((key) => ({ path: [...path, readable(key)].join('.'), message: 'is not a field of this request' }));
}

/** The router has already resolved the chain. */
const without = (record: object, name: string): object => Object.fromEntries(Object.entries(record).filter(([key]) => key !== name));

const readable = (text: string): string => text.slice(0, 64);
