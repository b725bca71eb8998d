import {
  changeBy,
  changePercent,
  formatAge,
  formatDecimal,
  formatShortUsd,
  formatSigned,
  formatUsd,
  scaled,
  shortAddress,
  signOf,
  unscaled,
} from '../../web/ui/format.js';
import { showPrice } from '../../web/ui/price-digits.js';
import { createPaced } from '../../web/api/paced.js';
import { until } from '../harness/time/eventually.js';

describe('what the pages print', () => {
  it('keeps digits that no binary fraction has', () => {
    expect(formatDecimal('9007199254740993.1', 2)).toBe('9,007,199,254,740,993.10');
    expect(unscaled(scaled('-123.000000000000000001', 18), 18)).toBe('-123.000000000000000001');
  });

  it('has a real minus, and a sign beside every colour', () => {
    expect([formatUsd('-1234.5'), formatSigned('-0.4', 2, ' %'), formatSigned('1.2', 2, ' %'), formatSigned('-0.001', 2)]).toEqual([
      '−$1,234.50',
      '−0.40 %',
      '+1.20 %',
      '0.00',
    ]);
    expect(['-0.0', '0', '0.1', '-3'].map(signOf)).toEqual([0, 0, 1, -1]);
  });

  it('shows a price with six significant digits, and cents at least', () => {
    expect([showPrice('60004.2', 10), showPrice('1.085', 10), showPrice('0.00000912', 10), showPrice('2999', 10)]).toEqual([
      '60,004.20',
      '1.08500',
      '0.0000091200',
      '2,999.00',
    ]);
  });

  it('shows what is no decimal as it is', () => expect([formatDecimal('1e5', 2), formatUsd('abc')]).toEqual(['1e5', 'abc']));

  it('computes changes exactly', () => {
    expect([changePercent('60000', '61200'), changePercent('3', '2'), changePercent('0', '1')]).toEqual(['2', '-33.333333', null]);
    expect([changeBy('60004.2', 1n, 10), changeBy('0.00000912', -1n, 10)]).toEqual(['60604.242', '0.0000090288']);
  });

  it('shortens addresses, ages and headers', () => {
    expect([shortAddress(`0x1234${'0'.repeat(32)}abcd`), formatAge(12_345), formatAge(200_000), formatShortUsd('1234567.8')]).toEqual([
      '0x1234…abcd',
      '12 s',
      '3 min',
      '$1.2M',
    ]);
  });
});

describe('values that come faster than people read', () => {
  it('are drawn at once, then merged, and the last one is never lost', async () => {
    const drawn: string[] = [];
    const paced = createPaced<string>(
      (text) => drawn.push(text),
      5,
      (waiting, next) => waiting + next,
    );
    for (const letter of 'abcd') paced.push(letter);
    expect(drawn).toEqual(['a']);
    await until(() => drawn.length === 2);
    expect(drawn).toEqual(['a', 'bcd']);
    paced.push('e');
    paced.stop();
  });
});
