// npm run compat: runs the client tests and writes what they did into the report the service serves and into docs/bots.md.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { format, resolveConfig } from 'prettier';
import type { ClientReport } from '../facade/exchange.js';
import { ALL_FLOWS_VARIABLE, FLOWS, REPORT_TEST } from '../test/clients/flows.js';
import { compatPage, withPage } from './compat-page.js';

const root = path.resolve(import.meta.dirname, '..');
const isFlow = (title: string): boolean => (FLOWS as readonly string[]).includes(title);

interface JestResults {
  readonly success: boolean;
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly ancestorTitles: readonly string[]; readonly title: string; readonly status: string }[];
  }[];
}

function runTests(): JestResults {
  const folder = mkdtempSync(path.join(tmpdir(), 'compat-'));
  try {
    const results = path.join(folder, 'results.json');
    const jest = ['--import', 'tsx', 'node_modules/jest/bin/jest.js'];
    spawnSync(
      process.execPath,
      [...jest, 'test/clients', `--testNamePattern=^(?!.*${REPORT_TEST}$)`, '--json', `--outputFile=${results}`],
      {
        cwd: root,
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { ...process.env, [ALL_FLOWS_VARIABLE]: '1' },
      },
    );
    return JSON.parse(readFileSync(results, 'utf8')) as JestResults;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `name version`, the test titles of the clients. */
function readReport({ testResults }: JestResults): ClientReport[] {
  const clients = new Map<string, { flow: string; isPassed: boolean }[]>();
  for (const { ancestorTitles, title, status } of testResults.flatMap(({ assertionResults }) => assertionResults)) {
    const client = ancestorTitles.at(-1);
    if (client === undefined || !isFlow(title)) continue;
    clients.set(client, [...(clients.get(client) ?? []), { flow: title, isPassed: status === 'passed' }]);
  }
  return [...clients.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, flows]) => ({ client: name.slice(0, name.lastIndexOf(' ')), version: name.slice(name.lastIndexOf(' ') + 1), flows }));
}

async function write(name: string, text: string): Promise<void> {
  const file = path.join(root, name);
  writeFileSync(file, await format(text, { ...(await resolveConfig(file)), filepath: file }));
}

const results = runTests();
const report = readReport(results);
if (report.length === 0) throw new Error('no client was tested; nothing was written');
await write(
  'facade/compat-report.ts',
  `import type { ClientReport } from './compat.js';

/** Written by \`npm run compat\` from what the client tests did; never by hand. */
export const COMPAT_REPORT: readonly ClientReport[] = ${JSON.stringify(report)};
`,
);
await write('docs/bots.md', withPage(readFileSync(path.join(root, 'docs/bots.md'), 'utf8'), compatPage(report, FLOWS)));
const failures = report.flatMap(({ client, version, flows }) =>
  flows.filter(({ isPassed }) => !isPassed).map(({ flow }) => `${client} ${version}: ${flow}`),
);
console.log(`${report.flatMap(({ flows }) => flows).length - failures.length} flows pass.`);
for (const failure of failures) console.error(`FAILS  ${failure}`);
process.exitCode = results.success ? 0 : 1;
