import type { GatewayError } from '../../core/errors.js';
import { keyOf, type Topic } from './topic.js';

/** Server frames as text. */

export const answerText = (op: string, fields: object): string => JSON.stringify({ op, ...fields });

export function errorText({ code, message, details }: GatewayError, topic: Topic | null): string {
  const shown = Object.keys(details).length > 0 ? { details } : {};
  return answerText('error', { code, message, ...shown, ...topic });
}

export interface Frame {
  readonly snapshot: boolean;
  /** Serialised JSON; many connections send the same text. */
  readonly data: string;
  readonly cursor?: bigint;
  /** A reorganisation removed what was published for this id; the data is the new state, null if nothing is left. */
  readonly correctionOf?: string | number;
}

/**
 * Numbers the messages of a subscription, so that a gap is visible. `numbers` belongs to the connection: a subscription that is opened
 * again continues its numbers. Clients can only subscribe to existing markets and intervals, which bounds the map.
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
