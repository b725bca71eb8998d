import { createRequire } from 'node:module';
import { COMPAT_REPORT } from '../../facade/compat-report.js';
import { ALL_FLOWS_VARIABLE, REPORT_TEST, USUAL_FLOWS, type Flow } from './flows.js';

const require = createRequire(import.meta.url);

export interface ClientUnderTest {
  readonly name: string;
  /** Where its package is installed. */
  readonly folder: string;
  /** Not the newest version of its client: `npm test` leaves all its flows out. */
  readonly isEarlier?: boolean;
}

export type DescribeFlow = (flow: Flow, test: () => Promise<void>) => void;

export const versionOf = ({ folder }: ClientUnderTest): string =>
  (require(`../../node_modules/${folder}/package.json`) as { version: string }).version;

const isTested = ({ isEarlier = false }: ClientUnderTest, flow: Flow): boolean =>
  process.env[ALL_FLOWS_VARIABLE] !== undefined || (!isEarlier && USUAL_FLOWS.includes(flow));

/** The flows of one client. What the compatibility report says of it must be what these tests prove, no more and no less. */
export function describeClient(client: ClientUnderTest, define: (flow: DescribeFlow) => void): void {
  const version = versionOf(client);
  const done = new Map<Flow, boolean>();
  describe(`${client.name} ${version}`, () => {
    define((flow, test) => {
      if (done.has(flow)) throw new Error(`${flow} is there twice`);
      if (!isTested(client, flow)) return it.skip(flow, test);
      done.set(flow, false);
      it(flow, async () => {
        await test();
        done.set(flow, true);
      });
    });

    it(REPORT_TEST, () => {
      const report = COMPAT_REPORT.find((row) => row.client === client.name && row.version === version);
      const tested = report?.flows.filter(({ flow }) => done.has(flow as Flow) || isTested(client, flow as Flow));
      expect(tested).toEqual([...done].map(([flow, isPassed]) => ({ flow, isPassed })));
    });
  });
}
