import { useSignal } from '@preact/signals';

/** More rows than this are drawn only when the user asks for them: a bot makes thousands, and each would be drawn again with the next. */
const MOST = 200;
const PAGE = 100;

export interface Shown<Row> {
  readonly rows: readonly Row[];
  readonly hasOlder: boolean;
  readonly showOlder: () => void;
}

/** The newest of the rows that are held; older ones first out of memory, then from the gateway. */
export function useShown<Row>(rows: readonly Row[], hasOlder: boolean, readOlder: () => void): Shown<Row> {
  const most = useSignal(MOST);
  const isHeld = rows.length > most.value;
  return {
    rows: isHeld ? rows.slice(0, most.value) : rows,
    hasOlder: isHeld || hasOlder,
    showOlder() {
      most.value = Math.max(most.peek(), Math.min(rows.length, most.peek()) + PAGE);
      if (!isHeld) readOlder();
    },
  };
}
