import type { Venue } from '../../../core/gateway.js';
import { knownFacts, learnFacts, roundedUp } from '../../../core/orders/known-facts.js';
import type { OpeningFacts, OpeningQuestion } from '../../../core/orders/rehearsal.js';
import type { Address } from '../../../core/ports.js';

const ALICE: Address = '0x00000000000000000000000000000000000a11ce';
const BOB: Address = '0x0000000000000000000000000000000000000b0b';
const OPENING: OpeningQuestion = { pairIndex: 3, collateralIndex: 1, long: true, positionSizeCollateral: 1_000n };
const FACTS: OpeningFacts = { fixedSpreadP: 5n, cumulVolPriceImpactMultiplier: 7n, isWithinGroupOi: true };

let now: number;
let venue: Venue;
beforeEach(() => {
  now = 1_000_000;
  venue = { clock: { now: () => now } } as Venue;
  learnFacts(venue, ALICE, OPENING, FACTS);
});

const sized = (positionSizeCollateral: bigint): OpeningQuestion => ({ ...OPENING, positionSizeCollateral });

describe('what was learned of an opening', () => {
  it('holds for others that are no larger', () => {
    expect(knownFacts(venue, ALICE, sized(1_000n))).toEqual(FACTS);
    expect(knownFacts(venue, ALICE, sized(1n))).toEqual(FACTS);
    expect(knownFacts(venue, ALICE, sized(1_001n))).toBeNull();
  });

  it.each([
    ['side', { ...OPENING, long: false }],
    ['market', { ...OPENING, pairIndex: 4 }],
    ['collateral', { ...OPENING, collateralIndex: 2 }],
  ])('says nothing of another %s', (_, opening) => {
    expect(knownFacts(venue, ALICE, opening)).toBeNull();
  });

  it('of one trader says nothing of the terms of another', () => {
    expect(knownFacts(venue, BOB, OPENING)).toBeNull();
    learnFacts(venue, BOB, sized(2_000n), { ...FACTS, fixedSpreadP: 9n });
    expect(knownFacts(venue, BOB, OPENING)?.fixedSpreadP).toBe(9n);
    expect(knownFacts(venue, ALICE, sized(2_000n))?.fixedSpreadP).toBe(5n);
  });

  it('is forgotten within a second, what governance decided within ten', () => {
    now += 999;
    expect(knownFacts(venue, ALICE, OPENING)).toEqual(FACTS);
    now += 1;
    expect(knownFacts(venue, ALICE, OPENING)).toBeNull();
    learnFacts(venue, BOB, OPENING, FACTS);
    expect(knownFacts(venue, ALICE, OPENING)).toEqual(FACTS);
    now += 9_000;
    learnFacts(venue, BOB, OPENING, FACTS);
    expect(knownFacts(venue, ALICE, OPENING)).toBeNull();
  });

  it('is over with the first that does not fit', () => {
    learnFacts(venue, BOB, sized(5_000n), { ...FACTS, isWithinGroupOi: false });
    expect(knownFacts(venue, ALICE, OPENING)).toBeNull();
    expect(knownFacts(venue, BOB, sized(1n))).toBeNull();
  });

  it.each([
    [0n, 0n],
    [1n, 1n],
    [7n, 7n],
    [8n, 8n],
    [9n, 10n],
    [1_024n, 1_024n],
    [1_025n, 1_280n],
    [2_047n, 2_048n],
  ])('is asked for in round numbers: %d as %d', (size, asked) => {
    expect(roundedUp(size)).toBe(asked);
  });

  it('of ten thousand traders makes no room for more', () => {
    for (let at = 0; at < 10_000; at += 1) learnFacts(venue, `0x${at.toString(16).padStart(40, '0')}`, OPENING, FACTS);
    expect(knownFacts(venue, ALICE, OPENING)).toBeNull();
    expect(knownFacts(venue, `0x${'0'.repeat(40)}`, OPENING)).toEqual(FACTS);
  });
});
