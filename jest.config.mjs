import { SHORT_RUN } from './test/runner/short-run.mjs';

// `npm run test:slow` runs what takes minutes and changes seldom, `npm run test:pages` what needs a browser, `npm run test:ha` what needs a cluster
// of database servers; `npm test` everything else.
const isSlow = process.env.SLOW_TESTS === '1';
const arePages = process.env.PAGE_TESTS === '1';
const isHa = process.env.HA_TESTS === '1';
const folder = (arePages && 'pages') || (isHa && 'ha');
const fast = folder ? [`<rootDir>/test/${folder}/**/*.test.ts`] : ['<rootDir>/test/**/*.test.ts'];
const short = process.env.SHORT_RUN === '1' && SHORT_RUN.map((name) => `<rootDir>/test/${name}.test.ts`);

export default {
  testMatch: short || (isSlow ? ['<rootDir>/test/**/*.slow.test.ts'] : fast),
  testPathIgnorePatterns: [
    '/node_modules/',
    ...(isSlow ? [] : ['\\.slow\\.test\\.ts$']),
    ...(folder ? [] : ['<rootDir>/test/ha/']),
    ...(isSlow || folder ? [] : ['<rootDir>/test/pages/']),
  ],
  testSequencer: '<rootDir>/test/runner/order-of-files.cjs',
  testRunner: '<rootDir>/test/runner/run-file.mjs',
  transform: {}, // Node loads the files, with tsx
  reporters: ['default', '<rootDir>/test/runner/dearest-files.cjs'],
  globalSetup: '<rootDir>/test/runner/global-setup.mjs',
  globalTeardown: '<rootDir>/test/runner/global-teardown.mjs',
  testTimeout: isSlow || arePages ? 300_000 : 240_000, // slowness is no failure: the machine may be busy with something else
  maxWorkers: 3, // a file waits for blocks and processes for a third of its time, so three keep two cores busy
  workerIdleMemoryLimit: '2GB', // a worker whose heap has grown is replaced between two files
  // One that is replaced after its last file has to start before it can end, which takes longer than jest's half second on a busy machine.
  // What a test leaves open is still reported.
  workerGracefulExitTimeout: 10_000,
};
