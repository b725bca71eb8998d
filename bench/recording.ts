import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import pg from 'pg';

/**
 * Where the time goes and what the database is asked: the first call begins, the second writes the profile to the
 * file it names and the statements, by how often, beside it.
 */
export function createRecording(): (file: string) => Promise<void> {
  const statements = countStatements();
  const session = new Session();
  let isRecording = false;

  async function begin(): Promise<void> {
    statements.clear();
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: 200 });
    await session.post('Profiler.start');
  }

  async function write(file: string): Promise<void> {
    writeFileSync(file, JSON.stringify((await session.post('Profiler.stop')).profile));
    const lines = [...statements].sort(([, one], [, other]) => other - one).map(([text, times]) => `${times} ${text}`);
    writeFileSync(`${file}.statements`, lines.join('\n'));
    session.disconnect();
  }

  return async (file) => {
    await (isRecording ? write(file) : begin());
    isRecording = !isRecording;
  };
}

function countStatements(): Map<string, number> {
  const counts = new Map<string, number>();
  const query = Reflect.get(pg.Client.prototype, 'query') as (...given: unknown[]) => unknown;
  Reflect.set(pg.Client.prototype, 'query', function (this: pg.Client, asked: string | { readonly text?: string }, ...rest: unknown[]) {
    const text = (typeof asked === 'string' ? asked : (asked.text ?? 'pipeline')).replace(/\s+/g, ' ').trim().slice(0, 160);
    counts.set(text, (counts.get(text) ?? 0) + 1);
    return query.call(this, asked, ...rest);
  });
  return counts;
}
