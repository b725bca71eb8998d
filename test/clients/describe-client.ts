import { createRequire } from 'node:module';
import { COMPAT_REPORT } from '../../facade/compat-report.js';
import { ALL_FLOWS_VARIABLE, REPORT_TEST, SLOW_FLOWS, type Flow } from './flows.js';

const require = createRequire(import.meta.url);

export interface ClientUnderTest {
  readonly name: string;
  /** Where its package is installed. */
  readonly folder: string;
}

export type DescribeFlow = (flow: Flow, test: () => Promise<void>) => void;

export const versionOf = ({ folder }: ClientUnderTest): string =>
  (require(`../../node_modules/${folder}/package.json`) as { version: string }).version;

/** The flows of one client. What the compatibility report says of it must be what these tests prove, no more and no less. */
export function describeClient(client: ClientUnderTest, define: (flow: DescribeFlow) => void): void {
  const version = versionOf(client);
  const done = new Map<Flow, boolean>();
  describe(`${client.name} ${version}`, () => {
    define((flow, test) => {
      if (done.has(flow)) throw new Error(`${flow} is there twice`);
      if (SLOW_FLOWS.includes(flow) && process.env[ALL_FLOWS_VARIABLE] === undefined) return it.skip(flow, test);
      done.set(flow, false);
      it(flow, async () => {
        await test();
        done.set(flow, true);
      });
    });

    it(REPORT_TEST, () => {
      const report = COMPAT_REPORT.find((row) => row.client === client.name && row.version === version);
      const tested = report?.flows.filter(({ flow }) => done.has(flow as Flow) || !SLOW_FLOWS.includes(flow as Flow));
      expect(tested).toEqual([...done].map(([flow, isPassed]) => ({ flow, isPassed })));
    });
  });
}
