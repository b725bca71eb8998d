import { inspect } from 'node:util';

/** Polls a condition of the running system until it holds; fails with what it last saw. */
export async function eventually<Value>(
  read: () => Value | Promise<Value>,
  holds: (value: Value) => boolean,
  deadlineMs = 60_000,
): Promise<Value> {
  const end = Date.now() + deadlineMs;
  for (let turn = 0; ; turn += 1) {
    const value = await read();
    if (holds(value)) return value;
    if (Date.now() > end) throw new Error(`the condition did not come true within ${deadlineMs} ms; last seen: ${describe(value)}`);
    await new Promise((resolve) => (turn < 50 ? setImmediate(resolve) : setTimeout(resolve, 5)));
  }
}

const describe = (value: unknown): string => inspect(value).slice(0, 400);

/** Resolves when the condition is true. */
export const until = async (condition: () => boolean, deadlineMs?: number): Promise<void> => {
  await eventually(condition, (value) => value, deadlineMs);
};
