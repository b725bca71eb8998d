import { GatewayError } from '../errors.js';

/** Reports a failed node call to the caller as UPSTREAM_UNAVAILABLE instead of an internal error. */
export async function fromNode<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    throw new GatewayError('UPSTREAM_UNAVAILABLE', { upstream: 'chain node' }, { cause: error });
  }
}
