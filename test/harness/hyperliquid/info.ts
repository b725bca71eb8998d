import type { TestVenue } from '../venue/own-venue.js';
import { checkInfoAnswer } from './info-schemas.js';

export interface InfoReply {
  readonly status: number;
  readonly type: string | null;
  readonly headers: Headers;
  readonly text: string;
}

export interface HlInfo {
  /** A good answer, held to the schema of its type. */
  ask<Answer = unknown>(type: string, fields?: Record<string, unknown>): Promise<Answer>;
  /** Whatever comes back for whatever is sent. */
  send(body: string | Uint8Array, init?: RequestInit, path?: string): Promise<InfoReply>;
}

/** The info handler of a sandbox's first chain, asked over HTTP. */
export function hlInfo({ url }: Pick<TestVenue, 'url'>, chain = 'arbitrum-sepolia'): HlInfo {
  const send: HlInfo['send'] = async (body, init = {}, path = `/hl/${chain}/info`) => {
    const response = await fetch(`${url}${path}`, { method: 'POST', body, ...init });
    return { status: response.status, type: response.headers.get('content-type'), headers: response.headers, text: await response.text() };
  };
  return {
    send,
    async ask<Answer>(type: string, fields: Record<string, unknown> = {}): Promise<Answer> {
      const { status, type: contentType, text } = await send(JSON.stringify({ type, ...fields }));
      if (status !== 200 || contentType !== 'application/json')
        throw new Error(`${type}: ${status} ${contentType ?? ''} ${text.slice(0, 500)}`);
      const answer = JSON.parse(text) as Answer;
      checkInfoAnswer(type, answer);
      return answer;
    },
  };
}
