import { GatewayError } from '../errors.js';

/** What a node was asked; that it does not answer is the caller's to hear, and none of our faults. */
export async function fromNode<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    throw new GatewayError('UPSTREAM_UNAVAILABLE', { upstream: 'chain node' }, { cause: error });
  }
}
