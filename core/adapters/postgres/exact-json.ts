/** JSON that keeps bigints: `{"$n":"123"}`. Client-supplied strings cannot produce this form. */
export const encodeExact = (value: unknown): string =>
  JSON.stringify(value, (_key, field: unknown) => (typeof field === 'bigint' ? { $n: field.toString() } : field));

export const decodeExact = (text: string): unknown => revive(JSON.parse(text) as unknown);

/** In place, and only for nested values: a JSON.parse reviver would be called for every field of every row. */
function revive(value: unknown): unknown {
  if (!isNested(value)) return value;
  if (Array.isArray(value)) return value.map(revive);
  if (typeof value['$n'] === 'string') return BigInt(value['$n']);
  for (const [key, field] of Object.entries(value)) if (isNested(field)) value[key] = revive(field);
  return value;
}

const isNested = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
