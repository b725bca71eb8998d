import { Session } from 'node:inspector/promises';

const MODULES = '/dist/modules/';

/**
 * Which source files ran since the last call: those with a function that was called. What a module does when it is loaded does not count,
 * and neither does a function that went on after a pause. The process must run one module for each source file.
 */
export async function createCoverage(): Promise<() => Promise<string[]>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  return async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    return result
      .filter(({ functions }) => functions.some(({ functionName, ranges: [whole] }) => isCalled(functionName, whole)))
      .flatMap(({ url }) => fileOf(url) ?? [])
      .sort();
  };
}

/** The module itself is the function without a name that begins at its first character. */
const isCalled = (name: string, range: { readonly startOffset: number; readonly count: number } | undefined): boolean =>
  range !== undefined && range.count > 0 && !(name === '' && range.startOffset === 0);

function fileOf(url: string): string | null {
  const [, file] = url.split(MODULES);
  return file === undefined ? null : file.replace(/\.js(?:\?.*)?$/, '.ts');
}
