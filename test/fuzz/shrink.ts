import type { FrameInput, HttpInput, Numbered } from './input.js';

const MOST_TRIES = 60;

/** The same input with fewer headers and fields, as long as it still causes what was found. */
export async function shrink(found: Numbered, causes: (candidate: Numbered) => Promise<boolean>): Promise<Numbered> {
  let best = found;
  let tries = 0;
  for (let isSmaller = true; isSmaller && tries < MOST_TRIES;) {
    isSmaller = false;
    for (const candidate of smaller(best)) {
      if ((tries += 1) > MOST_TRIES) break;
      if (!(await causes(candidate))) continue;
      best = candidate;
      isSmaller = true;
      break;
    }
  }
  return best;
}

function* smaller(numbered: Numbered): Generator<Numbered> {
  const { input } = numbered;
  if (input.kind === 'http') {
    for (const [at] of input.headers.entries())
      yield { ...numbered, input: { ...input, headers: input.headers.filter((_, other) => other !== at) } };
    for (const body of smallerJson(input.body)) yield { ...numbered, input: { ...input, body } satisfies HttpInput };
  }
  if (input.kind === 'frame')
    for (const payload of smallerJson(input.payload)) yield { ...numbered, input: { ...input, payload } satisfies FrameInput };
}

/** The text without one of its fields or items. Texts that do not survive being read and written stay as they are. */
function* smallerJson(bytes: Buffer | null): Generator<Buffer> {
  if (bytes === null) return;
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    const count = fieldsOf(value).length;
    for (let at = 0; at < count; at += 1) {
      const copy = structuredClone(value);
      const field = fieldsOf(copy)[at];
      if (field === undefined) return;
      field.remove();
      yield Buffer.from(JSON.stringify(copy));
    }
  } catch {
    // What no reader of ours takes cannot be taken apart either.
  }
}

const DEEPEST = 4;

function fieldsOf(value: unknown, depth = 0, into: { readonly remove: () => void }[] = []): { readonly remove: () => void }[] {
  if (depth > DEEPEST || typeof value !== 'object' || value === null) return into;
  if (Array.isArray(value)) {
    value.forEach((item, at) => {
      into.push({ remove: () => void value.splice(at, 1) });
      fieldsOf(item, depth + 1, into);
    });
    return into;
  }
  const fields = value as Record<string, unknown>;
  for (const key of Object.keys(fields)) {
    into.push({ remove: () => void Reflect.deleteProperty(fields, key) });
    fieldsOf(fields[key], depth + 1, into);
  }
  return into;
}
