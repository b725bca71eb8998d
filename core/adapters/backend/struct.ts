import { field, flag, isObject, natural } from './wire.js';

type Reader = (value: unknown) => bigint | boolean | null;
type Shape = Readonly<Record<string, Reader>>;
type Read<S extends Shape> = { readonly [Key in keyof S]: Exclude<ReturnType<S[Key]>, null> };

/** Null when the value is malformed; all zero when it is absent, like an unset slot of the contract. */
export type StructReader<Value> = (value: unknown) => Value | null;

/** Parses a flat struct: every field must be well-formed. */
export function struct<S extends Shape>(shape: S): StructReader<Read<S>> {
  const entries = Object.entries(shape);
  const unset = Object.fromEntries(entries.map(([key, read]) => [key, read === flag ? false : 0n])) as Read<S>;
  return (value) => {
    if (value === undefined || value === null) return unset;
    if (!isObject(value)) return null;
    const result: Record<string, bigint | boolean> = {};
    for (const [key, read] of entries) {
      const one = read(field(value, key));
      if (one === null) return null;
      result[key] = one;
    }
    return result as Read<S>;
  };
}

export const naturals = <Key extends string>(...keys: readonly Key[]): StructReader<Readonly<Record<Key, bigint>>> =>
  struct(Object.fromEntries(keys.map((key) => [key, natural])) as Record<Key, typeof natural>);
