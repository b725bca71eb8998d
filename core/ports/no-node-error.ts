import { BaseError } from 'viem';

/** No node answered. Holds host names only; the rest of the URLs may be secret. */
export class NoNodeError extends BaseError {
  /** The nodes that were tried. */
  readonly hosts: readonly string[];

  constructor(faults: readonly string[], hosts: readonly string[]) {
    const [only = 'the node did not answer'] = faults;
    super(faults.length <= 1 ? only : `no node answered: ${faults.join('; ')}`, { name: 'NoNodeError' });
    this.hosts = hosts;
  }
}
