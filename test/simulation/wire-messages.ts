/** PostgreSQL's wire protocol, as far as the simulation has to understand it. */

export interface Frame {
  /** Empty for the first message of a connection. */
  readonly type: string;
  readonly body: Buffer;
  /** As it came; absent for one made here. */
  readonly bytes?: Buffer;
}

/** Splits a stream of bytes into messages. */
export function createFrameReader(hasStartup: boolean): (bytes: Buffer) => Frame[] {
  let rest: Buffer = Buffer.alloc(0);
  let isFirst = hasStartup;
  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    const frames: Frame[] = [];
    for (;;) {
      const head = isFirst ? 0 : 1;
      if (rest.length < head + 4) return frames;
      const length = rest.readInt32BE(head);
      if (rest.length < head + length) return frames;
      frames.push({
        type: isFirst ? '' : String.fromCharCode(rest[0] ?? 0),
        body: rest.subarray(head + 4, head + length),
        bytes: rest.subarray(0, head + length),
      });
      rest = rest.subarray(head + length);
      isFirst = false;
    }
  };
}

export function encodeFrame({ type, body, bytes: asItCame }: Frame): Buffer {
  if (asItCame !== undefined) return asItCame;
  const bytes = Buffer.allocUnsafe(type.length + 4 + body.length);
  bytes.write(type, 0, 'latin1');
  bytes.writeInt32BE(4 + body.length, type.length);
  body.copy(bytes, type.length + 4);
  return bytes;
}

const cString = (body: Buffer, from: number): { readonly text: string; readonly end: number } => {
  const end = body.indexOf(0, from);
  return { text: body.toString('utf8', from, end), end: end + 1 };
};

export interface ParsedStatement {
  readonly name: string;
  readonly text: string;
}

/** The statement of a Parse or Query message. */
export function statementOf({ type, body }: Frame): ParsedStatement | null {
  if (type === 'Q') return { name: '', text: cString(body, 0).text };
  if (type !== 'P') return null;
  const name = cString(body, 0);
  return { name: name.text, text: cString(body, name.end).text };
}

/** The name that a Bind message refers to. */
export const boundName = ({ body }: Frame): string => cString(body, cString(body, 0).end).text;

export function withText(frame: Frame, text: string): Frame {
  if (frame.type === 'Q') return { type: 'Q', body: Buffer.from(`${text}\0`) };
  const name = cString(frame.body, 0);
  const rest = frame.body.subarray(cString(frame.body, name.end).end);
  return { type: 'P', body: Buffer.concat([Buffer.from(`${name.text}\0${text}\0`), rest]) };
}

/** A Parse message under another name. */
export function withStatementName({ body }: Frame, name: string): Frame {
  return { type: 'P', body: Buffer.concat([Buffer.from(`${name}\0`), body.subarray(cString(body, 0).end)]) };
}

/** A Bind message for a statement of another name. */
export function withBoundName({ body }: Frame, name: string): Frame {
  const portal = cString(body, 0).end;
  return { type: 'B', body: Buffer.concat([body.subarray(0, portal), Buffer.from(`${name}\0`), body.subarray(cString(body, portal).end)]) };
}

export const queryFrame = (text: string): Frame => ({ type: 'Q', body: Buffer.from(`${text}\0`) });

/** Process id in BackendKeyData. */
export const processId = ({ body }: Frame): number => body.readInt32BE(0);

/** `INSERT 0 1` and the like. */
export const commandTag = ({ body }: Frame): string => cString(body, 0).text;

export function errorCode({ body }: Frame): string {
  for (let at = 0; body[at] !== 0 && at < body.length;) {
    const field = cString(body, at + 1);
    if (body[at] === 0x43) return field.text;
    at = field.end;
  }
  return '';
}

export function withErrorCode(frame: Frame, code: string): Frame {
  const body = Buffer.from(frame.body);
  const at = body.indexOf(`\0C${errorCode(frame)}\0`);
  if (at >= 0) body.write(code, at + 2, 'latin1');
  return { type: frame.type, body };
}

/** An error as the server would send it. */
export function errorFrame(severity: string, code: string, message: string): Frame {
  return { type: 'E', body: Buffer.from(`S${severity}\0V${severity}\0C${code}\0M${message}\0\0`) };
}

export const READY_IDLE: Frame = { type: 'Z', body: Buffer.from('I') };
export const SYNC: Frame = { type: 'S', body: Buffer.alloc(0) };
