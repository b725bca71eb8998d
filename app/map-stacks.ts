import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Stacks name the lines of the sources. Node's own `--enable-source-maps` (20) reads every map when it loads a file, which takes a sixth
 * of the loading; here a map is read when the first stack needs it.
 */
export function mapStacks(): void {
  if (process.sourceMapsEnabled) return; // the flag was given
  Error.prepareStackTrace = (error, frames) => [textOf(error), ...frames.map((frame) => `    at ${placeOf(frame)}`)].join('\n');
}

function textOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return 'Error';
  }
}

/** The declared type lacks the text that every frame has. */
interface Frame extends NodeJS.CallSite {
  toString(): string;
}

function placeOf(frame: Frame): string {
  const [text, file, line, column] = [frame.toString(), frame.getFileName(), frame.getLineNumber(), frame.getColumnNumber()];
  if (!file?.startsWith('file:') || line === null || column === null) return text;
  const entry = mapOf(file)?.findEntry(line - 1, column - 1);
  if (entry === undefined || !('originalSource' in entry)) return text;
  const source = fileURLToPath(new URL(entry.originalSource, file));
  return text.replace(`${file}:${line}:${column}`, `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`);
}

const maps = new Map<string, SourceMap | null>();

function mapOf(file: string): SourceMap | null {
  const known = maps.get(file);
  if (known !== undefined) return known;
  maps.set(file, null); // while it is read, an error in here must not lead back here
  try {
    maps.set(file, new SourceMap(JSON.parse(readFileSync(fileURLToPath(`${file}.map`), 'utf8')) as SourceMapPayload));
  } catch {
    // A file without a map is shown as it is.
  }
  return maps.get(file) ?? null;
}
