import type { Logger } from '../../core/ports/log.js';
import type { BlockHead, Cancel } from '../../core/types.js';
import type { OrderBook } from './order-book.js';

export interface FollowOptions {
  readonly book: OrderBook;
  readonly log: Logger;
  readonly onBlock: (listener: (head: BlockHead) => void) => Cancel;
  readonly head: () => Promise<BlockHead>;
  /** The book is up to date with this block, the newest. */
  readonly onFresh: (head: BlockHead) => void;
  readonly onReorg: () => void;
}

/** Keeps the book up to date, one step at a time: blocks that arrive during a step are handled together in the next one. */
export async function followChain({ book, log, onBlock, head, onFresh, onReorg }: FollowOptions): Promise<Cancel> {
  let seen = await head();
  let reorganised = false;
  let newest = seen;
  let running = false;

  async function catchUp(): Promise<void> {
    running = true;
    while (newest.hash !== seen.hash) {
      const target = newest;
      const rebuild = reorganised;
      reorganised = false;
      if (rebuild) onReorg();
      await (rebuild ? book.rebuild() : book.refresh(seen.number + 1n, target.number));
      seen = target;
      onFresh(seen);
    }
    running = false;
  }

  await book.rebuild();
  onFresh(seen);
  return onBlock((block) => {
    if (block.parentHash !== newest.hash) reorganised = true;
    newest = block;
    if (!running)
      catchUp().catch((error: unknown) => {
        running = false;
        reorganised = true;
        log.warn('oracle.follow-failed', { error });
      });
  });
}
