import { createRequire } from 'node:module';
import { COMPAT_REPORT } from '../../facade/compat-report.js';
import { REPORT_TEST, type Flow } from './flows.js';

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
      done.set(flow, false);
      it(flow, async () => {
        await test();
        done.set(flow, true);
      });
    });

    it(REPORT_TEST, () => {
      const flows = [...done].map(([flow, isPassed]) => ({ flow, isPassed }));
      expect(COMPAT_REPORT.find((row) => row.client === client.name && row.version === version)).toEqual({
        client: client.name,
        version,
        flows,
      });
    });
  });
}
