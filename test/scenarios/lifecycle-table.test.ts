import { readFileSync } from 'node:fs';
import path from 'node:path';
import { NEXT } from '../../core/domain/order-machine.js';
import { AGENT_ROWS, ORDER_ROWS, POSITION_ROWS } from './lifecycle-table.js';

const elsewhere = [...ORDER_ROWS, ...POSITION_ROWS, ...AGENT_ROWS].flatMap(({ row, proof }): [string, string, string][] =>
  typeof proof === 'string' ? [] : [[row, proof.file, proof.title]],
);

describe('the table of lives', () => {
  it.each(elsewhere)('finds "%s" proved in %s: %s', (_row, file, title) => {
    expect(readFileSync(path.resolve(import.meta.dirname, '..', file), 'utf8')).toContain(title);
  });

  it('has every move the order machine knows', () => {
    const known = Object.entries(NEXT).flatMap(([from, row]) => Object.values(row).map((to) => `${from} → ${to}`));
    const proved = new Set(ORDER_ROWS.map(({ move }) => move));
    expect([...new Set(known)].filter((move) => !proved.has(move))).toEqual([]);
  });
});
