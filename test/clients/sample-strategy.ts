/**
 * A strategy made of the indicators of freqtrade's sample, on candles as ccxt gives them: RSI over 14, TEMA over 9, and the middle of the
 * Bollinger bands over 20 candles. As there, each of its four conditions asks for volume. The sample's fourth part, a turn of TEMA, is left
 * out: at an exit it hardly ever comes with the crossing, and the sample leaves by its table of profits instead.
 */

/** Time, open, high, low, close, volume: a row of ccxt's `fetchOHLCV`. */
export type OhlcvRow = readonly (number | undefined)[];

export type Side = 'long' | 'short';
export interface Signals {
  readonly enter: Side | null;
  /** The side whose positions it closes. */
  readonly exit: Side | null;
}

const [RSI, TEMA, BANDS] = [14, 9, 20];
const [LOW, HIGH] = [30, 70];
/** Averages need a past before they mean anything; freqtrade leaves these candles out. */
const STARTUP_CANDLES = 200;

/** One entry per candle; both sides are null where the strategy does nothing. */
export function signalsOf(rows: readonly OhlcvRow[]): Signals[] {
  const column = (at: number): number[] => rows.map((row) => row[at] ?? 0);
  const [highs, lows, closes, volumes] = [column(2), column(3), column(4), column(5)];
  const middle = simpleAverage(
    closes.map((close, at) => (close + (highs[at] ?? 0) + (lows[at] ?? 0)) / 3),
    BANDS,
  );
  const [rsi, tema] = [rsiOf(closes), temaOf(closes)];
  return rows.map((_row, at): Signals => {
    const [now, before] = [rsi[at] ?? 0, rsi[at - 1] ?? 0];
    const [line, band] = [tema[at] ?? 0, middle[at] ?? 0];
    if (at < STARTUP_CANDLES || (volumes[at] ?? 0) <= 0) return { enter: null, exit: null };
    const isLow = before <= LOW && now > LOW && line <= band;
    const isHigh = before <= HIGH && now > HIGH && line > band;
    return { enter: isLow ? 'long' : isHigh ? 'short' : null, exit: isHigh ? 'long' : isLow ? 'short' : null };
  });
}

/** The sides it enters and leaves again, one position at a time. */
export function roundTrips(signals: readonly Signals[]): Side[] {
  const trips: Side[] = [];
  let held: Side | null = null;
  for (const { enter, exit } of signals) {
    if (held === null) held = enter;
    else if (exit === held) {
      trips.push(held);
      held = null;
    }
  }
  return trips;
}

const simpleAverage = (values: readonly number[], length: number): number[] =>
  values.map((_value, at) => {
    const last = values.slice(Math.max(0, at - length + 1), at + 1);
    return last.reduce((sum, value) => sum + value, 0) / last.length;
  });

/** `weight`: of the newest value. */
function smoothed(values: readonly number[], weight: number): number[] {
  let average = values[0] ?? 0;
  return values.map((value) => (average += weight * (value - average)));
}

function temaOf(closes: readonly number[]): number[] {
  const weight = 2 / (TEMA + 1);
  const once = smoothed(closes, weight);
  const twice = smoothed(once, weight);
  const thrice = smoothed(twice, weight);
  return closes.map((_close, at) => 3 * (once[at] ?? 0) - 3 * (twice[at] ?? 0) + (thrice[at] ?? 0));
}

/** With Wilder's average, as TA-Lib computes it. */
function rsiOf(closes: readonly number[]): number[] {
  const moves = closes.map((close, at) => close - (closes[at - 1] ?? close));
  const gains = smoothed(
    moves.map((move) => Math.max(move, 0)),
    1 / RSI,
  );
  const losses = smoothed(
    moves.map((move) => Math.max(-move, 0)),
    1 / RSI,
  );
  return gains.map((gain, at) => (gain + (losses[at] ?? 0) === 0 ? 50 : (100 * gain) / (gain + (losses[at] ?? 0))));
}
