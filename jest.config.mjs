// `npm run test:slow` runs what takes minutes and changes seldom; `npm test` everything else.
const isSlow = process.env.SLOW_TESTS === '1';

export default {
  testEnvironment: 'node',
  testMatch: [isSlow ? '<rootDir>/test/**/*.slow.test.ts' : '<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', ...(isSlow ? [] : ['\\.slow\\.test\\.ts$'])],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' }, sourceMaps: 'inline' },
    ],
  },
  globalSetup: '<rootDir>/test/harness/global-setup.mjs',
  globalTeardown: '<rootDir>/test/harness/global-teardown.mjs',
  testTimeout: 120_000, // slowness is no failure: the machine may be busy with something else
  maxWorkers: 2,
  coverageProvider: 'babel',
};
