import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { takeCoverage } from 'node:v8';
import { createEmptyTestResult } from '@jest/test-result';
import { expect } from 'expect';
import circus, { addEventHandler, getState, resetState, run, setState } from 'jest-circus';
import { formatExecError, formatResultsErrors } from 'jest-message-util';

/**
 * Jest's `testRunner`: runs a test file with Jest's framework and Node's own `import`. By default Jest gives every file a module system of its
 * own, in which all modules are read, linked and warmed up anew. Here the files of a worker share the modules of Node: what a file changes in
 * them or in the globals, it puts back.
 */
export default async function runFile(globalConfig, config, _environment, _runtime, testPath) {
  const before = processorMs();
  Error.prepareStackTrace = undefined; // Jest reads no source maps of these modules, Node does
  prepare(globalConfig);
  const stopCatching = catchErrors();
  try {
    await import(pathToFileURL(testPath).href);
    const { testResults, unhandledErrors } = await run();
    if (process.env.NODE_V8_COVERAGE) takeCoverage(); // a worker that is replaced writes nothing at its end
    return { ...resultOf({ testResults, unhandledErrors, globalConfig, config, testPath }), processorMs: processorMs() - before };
  } finally {
    stopCatching();
  }
}

Object.assign(globalThis, circus, { expect });

/** Rejections without a handler, until one is added or the test that was running ends. */
const rejections = new Map();

addEventHandler(async (event, state) => {
  if (event.name === 'test_start') expect.setState({ assertionCalls: 0, numPassingAsserts: 0, suppressedErrors: [] });
  if (event.name === 'test_done') {
    event.test.numPassingAsserts = expect.getState().numPassingAsserts;
    event.test.errors.push(...expect.extractExpectedAssertionsErrors().map(({ error }) => error), ...expect.getState().suppressedErrors);
  }
  if (event.name === 'run_finish' || (event.name === 'test_done' && rejections.size > 0)) {
    await new Promise(setImmediate); // Node reports errors and handlers that came late at the end of a turn
    (event.test?.errors ?? state.unhandledErrors).push(...rejections.values());
    rejections.clear();
  }
});

function prepare({ testTimeout, testNamePattern, maxConcurrency, expand, seed }) {
  resetState();
  setState({
    ...getState(),
    ...(testTimeout === undefined ? {} : { testTimeout }),
    testNamePattern: testNamePattern ? new RegExp(testNamePattern, 'i') : null,
    maxConcurrency,
    expand,
    seed,
  });
  rejections.clear();
}

/** An error that no code catches fails the test that runs, or the file; it does not end the worker. */
function catchErrors() {
  const handlers = {
    uncaughtException: (error) => {
      const { currentlyRunningTest, unhandledErrors } = getState();
      (currentlyRunningTest?.errors ?? unhandledErrors).push(error);
    },
    unhandledRejection: (error, promise) => rejections.set(promise, error),
    rejectionHandled: (promise) => rejections.delete(promise),
  };
  const others = Object.entries(handlers).map(([name, handler]) => {
    const listeners = process.rawListeners(name);
    process.removeAllListeners(name);
    process.on(name, handler);
    return [name, listeners];
  });
  return () => {
    for (const [name, listeners] of others) {
      process.off(name, handlers[name]);
      for (const listener of listeners) process.on(name, listener);
    }
  };
}

const STATUS = { skip: 'pending', todo: 'todo' };

/** What `run` of jest-circus returns, in the shape that Jest's reporters read. */
function resultOf({ testResults, unhandledErrors, globalConfig, config, testPath }) {
  const results = testResults.map((test) => {
    const [, ...titles] = test.testPath;
    return {
      ancestorTitles: titles.slice(0, -1),
      title: titles.at(-1),
      fullName: titles.join(' '),
      status: STATUS[test.status] ?? (test.errors.length > 0 ? 'failed' : 'passed'),
      duration: test.duration,
      startAt: test.startedAt,
      failing: test.failing,
      failureMessages: [...test.errors],
      failureDetails: test.errorsDetailed,
      invocations: test.invocations,
      location: test.location,
      numPassingAsserts: test.numPassingAsserts,
      retryReasons: [...test.retryReasons],
    };
  });
  const count = (status) => results.filter((result) => result.status === status).length;
  const failures = [
    formatResultsErrors(results, config, globalConfig, testPath),
    ...unhandledErrors.map((stack) => formatExecError({ message: '', stack }, config, globalConfig, testPath)),
  ].filter(Boolean);
  return {
    ...createEmptyTestResult(),
    testFilePath: testPath,
    testResults: results,
    numPassingTests: count('passed'),
    numFailingTests: count('failed'),
    numPendingTests: count('pending'),
    numTodoTests: count('todo'),
    failureMessage: failures.length > 0 ? failures.join('\n\n') : null,
    ...(unhandledErrors.length > 0 ? { testExecError: { message: '', stack: unhandledErrors.join('\n') } } : {}),
  };
}

/** /proc counts in clock ticks, a hundred a second on every Linux that Node supports. */
const TICK_MS = 10;

/** Processor time of this worker and of the processes that it started and that have ended; without a /proc, only its own. */
function processorMs() {
  const { user, system } = process.cpuUsage();
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (user + system) / 1000 + (Number(fields[13]) + Number(fields[14])) * TICK_MS;
  } catch {
    return (user + system) / 1000;
  }
}
