/** Values that come faster than people read are drawn a few times a second: the first at once, then the latest of each pause. */
export interface Paced<Value> {
  push(value: Value): void;
  stop(): void;
}

export function createPaced<Value>(
  apply: (value: Value) => void,
  pauseMs: number,
  merge: (waiting: Value, next: Value) => Value = (_, next) => next,
): Paced<Value> {
  let waiting: { value: Value } | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const rest = (): void => {
    timer = setTimeout(() => {
      timer = undefined;
      if (waiting === null) return;
      const { value } = waiting;
      waiting = null;
      rest();
      apply(value);
    }, pauseMs);
  };
  return {
    push(value) {
      if (timer !== undefined) return void (waiting = { value: waiting === null ? value : merge(waiting.value, value) });
      rest();
      apply(value);
    },
    stop: () => clearTimeout(timer),
  };
}
