import type { GatewayError } from '../../core/errors.js';
import { keyOf, type Topic } from './topic.js';

/** What the server says on the socket, as text. */

export const answerText = (op: string, fields: object): string => JSON.stringify({ op, ...fields });

export function errorText({ code, message, details }: GatewayError, topic: Topic | null): string {
  const told = Object.keys(details).length > 0 ? { details } : {};
  return answerText('error', { code, message, ...told, ...topic });
}

export interface Frame {
  readonly snapshot: boolean;
  /** JSON, written by whoever knows it; many lines send the same text. */
  readonly data: string;
  readonly cursor?: bigint;
  /** The chain took back what was told of this one before; the data says what is true instead, null where nothing is left of it. */
  readonly correctionOf?: string | number;
}

/**
 * Numbers the messages of what is subscribed to, so that a gap is visible. `numbers` belongs to the connection: a subscription that ended
 * and began again goes on with its numbers. A client can subscribe to the markets and intervals there are and no others, which bounds it.
 */
export function createFramer(topic: Topic, numbers: Map<string, number>): (frame: Frame) => string {
  const head = JSON.stringify(topic).slice(0, -1);
  const key = keyOf(topic);
  return ({ snapshot, data, cursor, correctionOf }) => {
    const seq = (numbers.get(key) ?? 0) + 1;
    numbers.set(key, seq);
    const mark = cursor === undefined ? '' : `,"cursor":${cursor}`;
    const taken = correctionOf === undefined ? '' : `,"correction":true,"id":${JSON.stringify(correctionOf)}`;
    return `${head},"snapshot":${snapshot},"seq":${seq}${mark}${taken},"data":${data}}`;
  };
}
