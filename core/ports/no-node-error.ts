import { BaseError } from 'viem';

/** No node gave an answer. It names hosts and nothing else of their addresses. */
export class NoNodeError extends BaseError {
  /** Who was asked. */
  readonly hosts: readonly string[];

  constructor(faults: readonly string[], hosts: readonly string[]) {
    const [only = 'the node did not answer'] = faults;
    super(faults.length <= 1 ? only : `no node answered: ${faults.join('; ')}`, { name: 'NoNodeError' });
    this.hosts = hosts;
  }
}
