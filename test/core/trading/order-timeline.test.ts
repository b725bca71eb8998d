import { CANCELED, type RelayJob } from '../../../core/ports/stores/relay.js';
import { notSentNote } from '../../../core/trading/order-timeline.js';

const job = (changes: Partial<RelayJob>): RelayJob => ({ purpose: 'action', state: 'queued', note: null, ...changes }) as RelayJob;

describe('the timeline of a relayed order', () => {
  it.each<readonly [string, readonly Partial<RelayJob>[], string | null]>([
    ['says why nothing was sent for it', [{ state: 'refused', note: 'its time was over' }], 'Not sent: its time was over.'],
    ['says why a no-op took its nonce', [{ state: 'replaced', note: 'its time was over' }], 'Not sent: its time was over.'],
    ['leaves it to its owner who took it back', [{ state: 'refused', note: CANCELED.note }], null],
    ['says nothing while it may be sent', [{ state: 'queued', note: 'it waits' }], null],
    ['says nothing of a try before the last', [{ state: 'refused', note: 'too late' }, { state: 'mined' }], null],
    ['says nothing of a reclaim', [{ state: 'mined' }, { state: 'refused', note: 'too late', purpose: 'reclaim' }], null],
    ['says nothing of an order that was not relayed', [], null],
  ])('%s', (_name, jobs, note) => {
    expect(notSentNote(jobs.map(job))).toBe(note);
  });
});
