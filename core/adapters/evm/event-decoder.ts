import { decodeAbiParameters, type AbiEvent, type AbiParameter } from 'viem';
import type { Hex } from '../../types.js';

type Args = Readonly<Record<string, unknown>>;
export type EventDecoder = (topics: readonly Hex[], data: Hex) => Args;

/** Types of which a topic contains only a hash. */
const isHashed = ({ type }: AbiParameter): boolean => type === 'string' || type === 'bytes' || type === 'tuple' || type.endsWith(']');

/**
 * Decodes the logs of one event, selected by topic. The library would hash the event's signature for every log, which takes longer than the
 * decoding. Throws when the log does not match.
 */
export function eventDecoder({ inputs }: AbiEvent): EventDecoder {
  const indexed = inputs.filter((input) => input.indexed);
  const plain = inputs.filter((input) => !input.indexed);
  return (topics, data) => {
    if (topics.length !== indexed.length + 1) throw new RangeError('a log with other topics');
    const read = indexed.map((input, at): readonly [string, unknown] => [input.name ?? '', fromTopic(input, topics[at + 1] ?? '0x')]);
    const values: readonly unknown[] = plain.length === 0 ? [] : decodeAbiParameters(plain, data);
    return Object.fromEntries([...read, ...plain.map((input, at) => [input.name ?? '', values[at]] as const)]);
  };
}

const fromTopic = (input: AbiParameter, topic: Hex): unknown => (isHashed(input) ? topic : decodeAbiParameters([input], topic)[0]);
