import { appendFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { makeTemporaryFolder } from '../harness/database/temporary-folder.js';
import { describeRecords, readRecords, type RunRecord } from './records.js';

let folder: string;
beforeAll(async () => (folder = await makeTemporaryFolder('simulation-records')));
afterAll(() => rm(folder, { recursive: true }));

const ROW = 'order prepared sent';
const RECORDS: RunRecord[] = [
  { seed: 1, rules: 3, runs: 2, failed: 0, reached: { [ROW]: 6 } },
  { seed: 2, rules: 3, runs: 1, failed: 1, reached: { [ROW]: 5 } },
];

describe('recorded runs', () => {
  it('are read back line by line, and a file that is missing or empty has none', async () => {
    const file = path.join(folder, 'runs.jsonl');
    expect(readRecords(file)).toEqual([]);
    await appendFile(file, '');
    expect(readRecords(file)).toEqual([]);
    for (const record of RECORDS) await appendFile(file, `${JSON.stringify(record)}\n`);
    expect(readRecords(file)).toEqual(RECORDS);
  });

  it('are summed: seeds, runs, failures, and how often each row was reached', () => {
    const lines = describeRecords(RECORDS);
    expect(lines[0]).toBe('2 seeds, 3 runs, 1 failed');
    expect(lines).toContain(`  ${ROW.padEnd(32)} 11`);
    expect(lines.filter((line) => line.includes(`seldom: ${ROW} `))).toEqual([]);
  });
});
