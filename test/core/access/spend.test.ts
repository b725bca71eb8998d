import fc from 'fast-check';
import type { Reservation } from '../../../core/ports/stores/orders.js';
import { add, compare, decimal, formatDecimal, parseDecimal, ZERO, type Decimal } from '../../../core/domain/decimal.js';
import type { Address } from '../../../core/types.js';
import { settling } from '../../../core/adapters/postgres/spend-store.js';
import { inTransaction, runAll } from '../../../core/adapters/postgres/statement.js';
import { openReplicas, type Replicas } from '../../harness/database/two-stores.js';

let replicas: Replicas;
let stores: Replicas['stores'];

beforeAll(async () => {
  replicas = await openReplicas();
  ({ stores } = replicas);
});
afterAll(() => replicas.close());

let last = 0;
const fresh = (): string => String((last += 1));
const newAgent = (): Address => `0x${fresh().padStart(40, '0')}`;
const TRADER: Address = `0x${'ab'.repeat(20)}`;
const usd = parseDecimal;
/** What a follower does with the reservation of an order that it saves. */
const save = (at: number, id: string, holds: boolean): Promise<void> =>
  inTransaction(stores[at % 2 === 0 ? 0 : 1].db, (trx) => runAll(trx, settling('base', [{ id, holds, size: null }])));
const release = (id: string, at = 0): Promise<void> => save(at, id, false);
const restore = (id: string, at = 0): Promise<void> => save(at, id, true);
const reservation = (agent: Address, amount: string, changes: Partial<Reservation> = {}): Reservation => ({
  chain: 'base',
  agent,
  trader: TRADER,
  day: 20_000,
  id: fresh(),
  usd: usd(amount),
  ...changes,
});
const spentBy = async (agent: Address, changes: Partial<Reservation> = {}): Promise<string> =>
  formatDecimal(await stores[0].spend.spent(reservation(agent, '0', changes)));

describe('a reservation with an end', () => {
  it('is given back once it is over, and holds longer when it is asked for again', async () => {
    const agent = newAgent();
    const growth = reservation(agent, '30', { expiresAt: 1_000 });
    expect(await stores[0].spend.reserve(growth, usd('100'))).toBe(true);
    expect(await stores[0].spend.reserve({ ...growth, expiresAt: 2_000 }, usd('100'))).toBe(true);
    await stores[1].spend.releaseUnsent('base', 1_999);
    expect(await spentBy(agent)).toBe('30');
    expect(await stores[1].spend.releaseUnsent('base', 2_000)).toBe(1);
    expect(await stores[0].spend.releaseUnsent('base', 2_000)).toBe(0);
    expect(await spentBy(agent)).toBe('0');
    expect(await stores[0].spend.reserve({ ...growth, expiresAt: 3_000 }, usd('100'))).toBe(true);
    expect(await spentBy(agent)).toBe('30');
  });

  it('is not touched where it has none', async () => {
    const agent = newAgent();
    await stores[0].spend.reserve(reservation(agent, '30'), null);
    await stores[0].spend.releaseUnsent('base', Number.MAX_SAFE_INTEGER);
    expect(await spentBy(agent)).toBe('30');
  });
});

describe('a daily spend cap', () => {
  it('is reached exactly and never passed, by two replicas at once', async () => {
    const agent = newAgent();
    const asked = Array.from({ length: 60 }, (_, n) => stores[n % 2 === 0 ? 0 : 1].spend.reserve(reservation(agent, '3.7'), usd('100')));
    const granted = (await Promise.all(asked)).filter(Boolean).length;
    expect(granted).toBe(27);
    expect(await spentBy(agent)).toBe('99.9');
    expect(await stores[0].spend.reserve(reservation(agent, '0.1'), usd('100'))).toBe(true);
    expect(await stores[1].spend.reserve(reservation(agent, '0.000000000000000001'), usd('100'))).toBe(false);
  });

  it('binds the first order of a day like any other', async () => {
    const agent = newAgent();
    expect(await stores[0].spend.reserve(reservation(agent, '100.01'), usd('100'))).toBe(false);
    expect(await spentBy(agent)).toBe('0');
    expect(await stores[0].spend.reserve(reservation(agent, '0'), usd('0'))).toBe(true);
  });

  it('belongs to one agent of one trader on one chain on one day', async () => {
    const agent = newAgent();
    const full = usd('10');
    expect(await stores[0].spend.reserve(reservation(agent, '10'), full)).toBe(true);
    const elsewhere: Partial<Reservation>[] = [{ day: 20_001 }, { chain: 'polygon' }, { trader: newAgent() }, { agent: newAgent() }];
    for (const change of elsewhere) expect(await stores[0].spend.reserve(reservation(agent, '10', change), full)).toBe(true);
    expect(await stores[0].spend.reserve(reservation(agent, '0.01'), full)).toBe(false);
  });

  it('counts what was spent before there was a cap', async () => {
    const agent = newAgent();
    expect(await stores[0].spend.reserve(reservation(agent, '1000'), null)).toBe(true);
    expect(await stores[1].spend.reserve(reservation(agent, '1'), usd('1000'))).toBe(false);
    expect(await stores[1].spend.reserve(reservation(agent, '1'), null)).toBe(true);
    expect(await spentBy(agent)).toBe('1001');
  });

  it('reserves one id once, however often and wherever it is asked for', async () => {
    const agent = newAgent();
    const one = reservation(agent, '7');
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => stores[n % 2 === 0 ? 0 : 1].spend.reserve(one, usd('1000'))));
    expect(answers).toEqual(Array(20).fill(true));
    expect(await spentBy(agent)).toBe('7');
  });

  it('gets back what is released, once, however many release it', async () => {
    const agent = newAgent();
    const [one, two] = [reservation(agent, '60'), reservation(agent, '40')];
    await stores[0].spend.reserve(one, usd('100'));
    await stores[0].spend.reserve(two, usd('100'));
    await Promise.all(Array.from({ length: 10 }, (_, n) => release(one.id, n)));
    expect(await spentBy(agent)).toBe('40');
    await release('unknown');
    expect(await spentBy(agent)).toBe('40');
  });

  it('stays the sum of what holds when the same orders are reserved, released and land all at once', async () => {
    const agent = newAgent();
    const all = Array.from({ length: 4 }, () => reservation(agent, '5'));
    await Promise.all(
      Array.from({ length: 48 }, async (_, n) => {
        const { spend } = stores[n % 2 === 0 ? 0 : 1];
        const one = all[n % 4] ?? reservation(agent, '5');
        if (n % 3 === 0) await spend.reserve(one, usd('1000'));
        else await save(n, one.id, n % 3 === 2);
      }),
    );
    const held = await stores[0].db('spend_reservations').where({ agent, held: true });
    expect(await spentBy(agent)).toBe(String(5 * held.length));
  });

  it('is asked again for an order that is prepared anew, on the day that happens', async () => {
    const agent = newAgent();
    const one = reservation(agent, '60');
    await stores[0].spend.reserve(one, usd('100'));
    await release(one.id);
    await stores[0].spend.reserve(reservation(agent, '50'), usd('100'));
    expect(await stores[1].spend.reserve(one, usd('100'))).toBe(false);
    const tomorrow = { ...one, day: one.day + 1, usd: usd('70') };
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => stores[n % 2 === 0 ? 0 : 1].spend.reserve(tomorrow, usd('1000'))),
    );
    expect(answers).toEqual(Array(20).fill(true));
    expect([await spentBy(agent), await spentBy(agent, { day: tomorrow.day })]).toEqual(['50', '70']);
    await release(one.id);
    expect([await spentBy(agent), await spentBy(agent, { day: tomorrow.day })]).toEqual(['50', '0']);
  });

  it('counts an order that lands after it was given up, even above the cap, on its own day', async () => {
    const agent = newAgent();
    const late = reservation(agent, '80');
    await stores[0].spend.reserve(late, usd('100'));
    await release(late.id);
    await stores[1].spend.reserve(reservation(agent, '90'), usd('100'));
    await Promise.all(Array.from({ length: 6 }, (_, n) => restore(late.id, n)));
    expect(await spentBy(agent)).toBe('170');
    expect(await spentBy(agent, { day: 20_001 })).toBe('0');
    expect(await stores[0].spend.reserve(reservation(agent, '0.01'), usd('100'))).toBe(false);
  });

  it('holds for any run of reservations, releases and landings', async () => {
    type Step = { kind: 'reserve'; units: number } | { kind: 'release' | 'restore'; at: number };
    const step: fc.Arbitrary<Step> = fc.oneof(
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('reserve' as const), units: fc.nat(4_000) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('release' as const, 'restore' as const), at: fc.nat(20) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const agent = newAgent();
        const cap = usd('100');
        const known: { id: string; usd: Decimal; isHeld: boolean }[] = [];
        const sum = (): Decimal => known.reduce((total, one) => (one.isHeld ? add(total, one.usd) : total), ZERO);
        for (const [n, { kind, ...rest }] of steps.entries()) {
          const { spend } = stores[n % 2 === 0 ? 0 : 1];
          if (kind === 'reserve' && 'units' in rest) {
            const asked = reservation(agent, formatDecimal(decimal(BigInt(rest.units), 2)));
            const fits = compare(add(sum(), asked.usd), cap) <= 0;
            expect(await spend.reserve(asked, cap)).toBe(fits);
            if (fits) known.push({ id: asked.id, usd: asked.usd, isHeld: true });
          } else if ('at' in rest) {
            const one = known[rest.at % Math.max(known.length, 1)];
            if (!one || kind === 'reserve') continue;
            await save(n, one.id, kind === 'restore');
            one.isHeld = kind === 'restore';
          }
          expect(await spentBy(agent)).toBe(formatDecimal(sum()));
        }
      }),
      { numRuns: 25 },
    );
  });
});
