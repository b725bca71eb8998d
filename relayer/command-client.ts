/** An error shown to the operator as one sentence without a stack, with the exit code of the process. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

export interface OperatorClient {
  get(path: string, query?: Readonly<Record<string, string | undefined>>): Promise<unknown>;
  post(path: string, body: unknown): Promise<unknown>;
}

interface ClientOptions {
  readonly url: string;
  readonly token: string;
}

/** Longer than the longest drill. */
const PATIENCE_MS = 90_000;

/** HTTP client of the operator routes of a running gateway. */
export function createOperatorClient({ url, token }: ClientOptions): OperatorClient {
  async function call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await reach(url, `${url}/relayer${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const reply = await readJson(response);
    if (response.ok) return reply;
    throw new CommandError(explain(response.status, url, reply));
  }
  return {
    get(path, query = {}) {
      const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
      return call('GET', given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`);
    },
    post: (path, body) => call('POST', path, body),
  };
}

function explain(status: number, url: string, reply: unknown): string {
  const { message, code } = (reply ?? {}) as { message?: unknown; code?: unknown };
  if (status === 401) return `The gateway at ${url} does not take this OPERATOR_TOKEN.`;
  if (status === 404 && code === 'UNSUPPORTED') return `The gateway at ${url} has no operator routes: start it with OPERATOR_TOKEN set.`;
  return typeof message === 'string' ? message : `The gateway at ${url} answered ${status}.`;
}

async function reach(base: string, url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(PATIENCE_MS) });
  } catch {
    throw new CommandError(`No gateway answers at ${base}; GATEWAY_URL says where it is.`);
  }
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return null;
  }
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** A local sandbox publishes its operator token; gateways on other hosts are never asked for theirs. */
export async function sandboxToken(url: string): Promise<string | null> {
  if (!LOOPBACK.has(new URL(url).hostname)) return null;
  const reply = await readJson(await reach(url, `${url}/sandbox`, { method: 'GET' }));
  const { operatorToken } = (reply ?? {}) as { operatorToken?: unknown };
  return typeof operatorToken === 'string' ? operatorToken : null;
}
