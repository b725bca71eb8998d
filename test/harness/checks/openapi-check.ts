import { openApiDocument, type OpenApiDocument, type OperationObject } from '../../../native-api/openapi.js';
import { OPERATIONS } from '../../../native-api/operations/index.js';
import { encoderOf } from '../../../native-api/wire/codec.js';
import { schemaProblems } from './json-schema.js';

interface Documented {
  readonly method: string;
  readonly path: RegExp;
  readonly operation: OperationObject;
}

let known: { readonly document: OpenApiDocument; readonly operations: readonly Documented[] } | undefined;

const contract = () => (known ??= readContract(openApiDocument(OPERATIONS, 'X-Service-')));

function readContract(document: OpenApiDocument) {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path: pathPattern(path), operation })),
  );
  return { document, operations };
}

const pathPattern = (path: string): RegExp => new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);

/** Throws unless the contract says that this operation can answer this status with this body. */
export function checkReply(operationId: string, status: number, body: unknown): void {
  const { document, operations } = contract();
  const found = operations.find(({ operation }) => operation.operationId === operationId);
  if (!found) throw new Error(`no operation is called ${operationId}`);
  const response = found.operation.responses[String(status)];
  if (!response) throw new Error(`${operationId} documents no status ${status}; it answered ${JSON.stringify(body).slice(0, 400)}`);
  const problems = schemaProblems(document, response.content['application/json'].schema, body);
  if (problems.length > 0) throw new Error(`${operationId} ${status} breaks its contract:\n${problems.slice(0, 20).join('\n')}`);
  if (status < 300) checkEncoding(operationId, body);
}

/** What we answer is written by an encoder made from the schema; the schema itself has to write the same. */
function checkEncoding(operationId: string, body: unknown): void {
  const reply = OPERATIONS.find(({ id }) => id === operationId)?.reply;
  if (!reply) return;
  const value: unknown = reply.decode(body);
  expect(encoderOf(reply)(value)).toEqual(reply.encode(value));
}

/** The operation behind a request, null for routes outside the contract. */
export function operationIdOf(method: string, url: string): string | null {
  const path = new URL(url, 'http://here').pathname;
  return contract().operations.find((each) => each.method === method && each.path.test(path))?.operation.operationId ?? null;
}

/** For every reply a test sees: what is in the contract has to keep it. */
export function checkExchange(method: string, url: string, status: number, body: unknown): void {
  const operationId = operationIdOf(method, url);
  if (operationId !== null) checkReply(operationId, status, body);
}
