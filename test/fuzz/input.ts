/** One input: what is sent, as it follows from the seed and the index alone. Signatures, nonces and times are added when it is sent. */
export type Input = HttpInput | FrameInput | RawInput | SequenceInput;

/** Which key signs, and how. The keys belong to the venue. */
export type Signing =
  | { readonly scheme: 'native'; readonly operationId: string }
  | { readonly scheme: 'api-key' }
  /** `subject` is the agent or the label that is signed for. */
  | { readonly scheme: 'master'; readonly primaryType: 'AgentAuthorization' | 'AgentRevocation' | 'ApiKeyIssue'; readonly subject: string }
  | { readonly scheme: 'l1'; readonly isKnown: boolean }
  | { readonly scheme: 'user-signed' };

export interface HttpInput {
  readonly kind: 'http';
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer | null;
  readonly signing?: Signing;
}

export type SocketApi = 'v1' | 'hl';

export interface FrameInput {
  readonly kind: 'frame';
  readonly api: SocketApi;
  readonly payload: Buffer;
  readonly isBinary: boolean;
  readonly signing?: Signing;
}

/** Bytes on a connection of their own; the client then ends its side. */
export interface RawInput {
  readonly kind: 'raw';
  readonly bytes: Buffer;
  /** The bytes follow a WebSocket handshake there. */
  readonly afterHandshake?: SocketApi;
}

/** One after the other on one connection. `LAST_ID` in a later step stands for the id that an earlier answer named. */
export interface SequenceInput {
  readonly kind: 'sequence';
  readonly steps: readonly HttpInput[];
}

export const LAST_ID = '__last_id__';

export interface Numbered {
  readonly index: number;
  readonly target: string;
  readonly input: Input;
}

const LONGEST_RUN = 24;
const LONGEST_LITERAL = 4_000;

/** A text as a JavaScript expression: long repetitions are written as such, and what cannot be printed is escaped. */
export function literalOf(bytes: Buffer): string {
  const text = bytes.toString('latin1');
  const isText = Buffer.from(bytes.toString('utf8')).equals(bytes);
  const shown = isText ? bytes.toString('utf8') : text;
  const parts: string[] = [];
  let plain = '';
  const flush = (): void => {
    if (plain !== '') parts.push(quote(plain));
    plain = '';
  };
  const repeats = /(.{1,6}?)\1{23,}/suy;
  for (let at = 0; at < shown.length;) {
    repeats.lastIndex = at;
    const [run, unit] = repeats.exec(shown) ?? [];
    if (run !== undefined && unit !== undefined && run.length >= LONGEST_RUN) {
      flush();
      parts.push(`${quote(unit)}.repeat(${run.length / unit.length})`);
      at += run.length;
    } else plain += shown[at++] ?? '';
  }
  flush();
  const whole = parts.join(' + ');
  const cut = whole.length > LONGEST_LITERAL ? `${whole.slice(0, LONGEST_LITERAL)}… (cut, ${bytes.length} bytes)` : whole;
  return isText ? cut || "''" : `Buffer.from(${cut}, 'latin1')`;
}

const quote = (text: string): string =>
  `'${text.replace(/[\\']/g, '\\$&').replace(/[^\x20-\x7e]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)}'`;

export function describeInput(input: Input): string {
  if (input.kind === 'sequence') return input.steps.map((step, at) => `step ${at + 1}: ${describeInput(step)}`).join('\n    ');
  const signing = input.kind === 'raw' ? undefined : input.signing;
  const signed = signing === undefined ? '' : ` signed ${JSON.stringify(signing)}`;
  if (input.kind === 'frame')
    return `${input.isBinary ? 'binary' : 'text'} frame on /${input.api}/{chain}/ws${signed}: ${literalOf(input.payload)}`;
  if (input.kind === 'raw') {
    const where = input.afterHandshake === undefined ? 'on a new connection' : `after the handshake of /${input.afterHandshake}/{chain}/ws`;
    return `bytes ${where}: ${literalOf(input.bytes)}`;
  }
  const headers = input.headers.map(([name, value]) => `${name}: ${value}`).join(', ');
  const body = input.body === null ? '' : ` body ${literalOf(input.body)}`;
  return `${input.method} ${input.path}${headers === '' ? '' : ` [${headers.slice(0, 600)}]`}${signed}${body}`;
}
