/** What went wrong, in the words of the gateway: every panel shows code, sentence and request id. */
export interface Problem {
  /** 0 when no answer came. */
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
}

export type Answer<Data> =
  | { readonly ok: true; readonly status: number; readonly data: Data; readonly requestId: string | null }
  | { readonly ok: false; readonly problem: Problem };

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** Statuses besides 2xx whose body is an answer and no problem: `/ready` answers 503 with its reasons. */
  readonly accepts?: readonly number[];
}

const TIMEOUT_MS = 15_000;

/** Calls the gateway that served the page. Never throws: a gateway that does not answer is a problem with a sentence, too. */
export async function request<Data>(path: string, options: RequestOptions = {}): Promise<Answer<Data>> {
  const { method = 'GET', body, headers = {}, signal, timeoutMs = TIMEOUT_MS, accepts = [] } = options;
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(path, {
      method,
      headers: { Accept: 'application/json', ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      credentials: 'omit',
      cache: 'no-store',
    });
    const requestId = response.headers.get('x-request-id');
    const said: unknown = await response.json().catch(() => undefined);
    if ((response.ok || accepts.includes(response.status)) && said !== undefined)
      return { ok: true, status: response.status, data: said as Data, requestId };
    return { ok: false, problem: problemOf(said, response, requestId) };
  } catch (error) {
    return { ok: false, problem: silence(error, timeout.aborted) };
  }
}

function problemOf(said: unknown, { status, headers }: Response, requestId: string | null): Problem {
  const body = typeof said === 'object' && said !== null ? (said as Record<string, unknown>) : {};
  const { code, message, details } = body;
  const wait = Number(headers.get('retry-after') ?? Number.NaN);
  return {
    status,
    code: typeof code === 'string' ? code : `HTTP_${status}`,
    message: typeof message === 'string' ? message : 'The answer cannot be read.',
    details: typeof details === 'object' && details !== null ? (details as Record<string, unknown>) : {},
    requestId,
    retryAfterSeconds: Number.isFinite(wait) ? wait : null,
  };
}

const silence = (error: unknown, isLate: boolean): Problem => ({
  status: 0,
  code: isLate ? 'NO_ANSWER' : 'NOT_REACHED',
  message: isLate ? 'The gateway did not answer in time.' : 'The gateway cannot be reached.',
  details: { reason: error instanceof Error ? error.message : String(error) },
  requestId: null,
  retryAfterSeconds: null,
});
