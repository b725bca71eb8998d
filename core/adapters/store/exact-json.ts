/** JSON that keeps bigints: `{"$n":"123"}`. No string a client chose can look like one. */
export const encodeExact = (value: unknown): string =>
  JSON.stringify(value, (_key, field: unknown) => (typeof field === 'bigint' ? { $n: field.toString() } : field));

export function decodeExact(text: string): unknown {
  return JSON.parse(text, (_key, field: unknown) =>
    typeof field === 'object' && field !== null && '$n' in field && typeof field.$n === 'string' ? BigInt(field.$n) : field,
  );
}
