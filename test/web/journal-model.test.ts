import path from 'node:path';

interface Entry {
  readonly cursor: number;
}
type Answer = { readonly ok: true; readonly data: { readonly data: readonly Entry[] } } | { readonly ok: false; readonly problem: object };
interface Journal {
  readonly load: { readonly value: { readonly data: readonly Entry[] | null; readonly problem: object | null } };
  reached(cursor: number): void;
  readOlder(): void;
  retry(): void;
}
interface Module {
  readonly createJournal: (read: (after: number, limit: number) => Promise<Answer>, abort: AbortSignal) => Journal;
}

/** Named at run time: the types of a browser, which the module brings, do not go with those of Node. */
const { createJournal } = (await import(path.resolve(import.meta.dirname, '../../web/account/journal-model.ts'))) as Module;

const entry = (cursor: number): Entry => ({ cursor });
const SILENCE = { status: 0, code: 'NOT_REACHED', message: '', details: {}, requestId: null, retryAfterSeconds: null };

/** A journal whose entries are all there, and that does not answer while it is down. */
function openJournal() {
  const asked: (readonly [after: number, limit: number])[] = [];
  const gateway = { isDown: false };
  const read = (after: number, limit: number): Promise<Answer> => {
    asked.push([after, limit]);
    if (gateway.isDown) return Promise.resolve({ ok: false, problem: SILENCE });
    const data = Array.from({ length: limit }, (_, at) => entry(after + at + 1));
    return Promise.resolve({ ok: true, data: { data } });
  };
  return { journal: createJournal(read, new AbortController().signal), asked, gateway };
}
const settled = (): Promise<void> => new Promise((done) => setImmediate(done));

describe('the journal of an account', () => {
  it('repeats the page of older entries that failed, and adds it once', async () => {
    const { journal, asked, gateway } = openJournal();
    journal.reached(250);
    await settled();
    gateway.isDown = true;
    journal.readOlder();
    await settled();
    expect(journal.load.value.problem).toMatchObject({ code: 'NOT_REACHED' });
    gateway.isDown = false;
    journal.retry();
    journal.retry();
    await settled();
    expect(asked).toEqual([
      [150, 100],
      [50, 100],
      [50, 100],
    ]);
    expect(journal.load.value.problem).toBeNull();
    expect(journal.load.value.data?.map(({ cursor }) => cursor)).toEqual(Array.from({ length: 200 }, (_, at) => 250 - at));
  });

  it('repeats its beginning where that failed', async () => {
    const { journal, gateway } = openJournal();
    gateway.isDown = true;
    journal.reached(3);
    await settled();
    expect(journal.load.value.data).toBeNull();
    gateway.isDown = false;
    journal.retry();
    await settled();
    expect(journal.load.value.data?.[0]?.cursor).toBe(100);
  });

  it('goes on over entries that were lost, and drops those that it showed', async () => {
    const jump = 2 ** 32;
    const left = Array.from({ length: 150 }, (_, at) => at + 1);
    let cursors = [...left, 151, 152];
    const read = (after: number, limit: number): Promise<Answer> => {
      if (after > 0 && !cursors.includes(after)) {
        const resumeAfter = Math.max(0, ...cursors.filter((cursor) => cursor < after));
        return Promise.resolve({
          ok: false,
          problem: { ...SILENCE, code: 'VALIDATION_ERROR', details: { cursorLost: true, resumeAfter } },
        });
      }
      const data = cursors.filter((cursor) => cursor > after).slice(0, limit);
      return Promise.resolve({ ok: true, data: { data: data.map(entry) } });
    };
    const journal = createJournal(read, new AbortController().signal);
    const shown = () => journal.load.value.data?.map(({ cursor }) => cursor);
    journal.reached(152);
    await settled();
    cursors = [...left, jump + 151, jump + 152];
    journal.reached(jump + 152);
    await settled();
    expect(shown()).toEqual([jump + 152, jump + 151, ...left.slice(52).toReversed()]);

    const later = createJournal(read, new AbortController().signal);
    later.reached(jump + 152);
    await settled();
    later.readOlder();
    await settled();
    expect(later.load.value.data?.map(({ cursor }) => cursor)).toEqual([jump + 152, jump + 151, ...left.slice(50).toReversed()]);
    expect(later.load.value.problem).toBeNull();
  });
});
