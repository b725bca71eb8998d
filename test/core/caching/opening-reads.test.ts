import type { Venue } from '../../../core/gateway.js';
import { knownFacts, roundedUp } from '../../../core/caching/opening-reads.js';
import type { OpeningFacts, OpeningQuestion, OpeningTerms, PairOpenInterest } from '../../../core/ports/simulation.js';
import type { Address } from '../../../core/types.js';

const ALICE: Address = '0x00000000000000000000000000000000000a11ce';
const BOB: Address = '0x0000000000000000000000000000000000000b0b';
const OPENING: OpeningQuestion = { pairIndex: 3, collateralIndex: 1, long: true, positionSizeCollateral: 1_024n };
const TERMS: OpeningTerms = { fixedSpreadP: 5n, cumulVolPriceImpactMultiplier: 7n };
const OI: PairOpenInterest = { oiToken: { long: 3n, short: 1n }, oiBeforeV10: { long: 0n, short: 0n } };
const FACTS: OpeningFacts = { ...TERMS, isWithinGroupOi: true, oi: OI };

let now: number;
let venue: Venue;
/** What the node was asked, and what it answers: how much more the group may hold. */
let asked: string[];
let spare: bigint | null;
let terms: OpeningTerms | null;
let isSilent: boolean;

beforeEach(() => {
  [now, asked, spare, terms, isSilent] = [1_000_000, [], 10_000n, TERMS, false];
  const answer = <Answer>(question: string, given: Answer): Promise<Answer> => {
    asked.push(question);
    return isSilent ? Promise.reject(new Error('no answer')) : Promise.resolve(given);
  };
  const chain = {
    openingTerms: (trader: Address) => answer(`terms ${trader}`, terms),
    fitsGroupOi: ({ positionSizeCollateral: size }: OpeningQuestion) => answer(`fits ${size}`, spare === null ? null : size <= spare),
    pairOpenInterest: ({ collateralIndex, pairIndex }: OpeningQuestion) => answer(`oi ${collateralIndex} ${pairIndex}`, OI),
  };
  venue = { clock: { now: () => now }, chain } as unknown as Venue;
});

const sized = (positionSizeCollateral: bigint): OpeningQuestion => ({ ...OPENING, positionSizeCollateral });

/** What it asks the node for. */
async function asks(trader: Address, opening: OpeningQuestion): Promise<string[]> {
  const before = asked.length;
  await knownFacts(venue, trader, opening);
  return asked.slice(before);
}

describe('what was learned of an opening', () => {
  beforeEach(async () => {
    expect(await knownFacts(venue, ALICE, OPENING)).toEqual(FACTS);
    expect(asked).toEqual([`terms ${ALICE}`, 'fits 1024', 'oi 1 3']);
  });

  it('holds for others that are no larger', async () => {
    expect(await knownFacts(venue, ALICE, sized(1n))).toEqual(FACTS);
    expect(await asks(ALICE, sized(1_024n))).toEqual([]);
    expect(await asks(ALICE, sized(1_025n))).toEqual(['fits 1280']);
    expect(await asks(ALICE, sized(1_280n))).toEqual([]);
  });

  it.each([
    ['side', { ...OPENING, long: false }, ['fits 1024']],
    ['market', { ...OPENING, pairIndex: 4 }, [`terms ${ALICE}`, 'fits 1024', 'oi 1 4']],
    ['collateral', { ...OPENING, collateralIndex: 2 }, ['fits 1024', 'oi 2 3']],
  ])('says nothing of another %s', async (_, opening, questions) => {
    expect(await asks(ALICE, opening)).toEqual(questions);
  });

  it('of one trader says nothing of the terms of another', async () => {
    terms = { ...TERMS, fixedSpreadP: 9n };
    expect((await knownFacts(venue, BOB, OPENING))?.fixedSpreadP).toBe(9n);
    expect((await knownFacts(venue, ALICE, OPENING))?.fixedSpreadP).toBe(5n);
  });

  it('is forgotten within a second, what governance decided within ten', async () => {
    now += 999;
    expect(await asks(ALICE, OPENING)).toEqual([]);
    now += 1;
    expect(await asks(ALICE, OPENING)).toEqual(['fits 1024', 'oi 1 3']);
    now += 9_000;
    expect(await asks(ALICE, OPENING)).toEqual([`terms ${ALICE}`, 'fits 1024', 'oi 1 3']);
  });
});

describe('what the node says of an opening', () => {
  it('is asked once for all who come meanwhile', async () => {
    const many = await Promise.all(Array.from({ length: 20 }, (_, at) => knownFacts(venue, ALICE, sized(1_024n - BigInt(at)))));
    expect(many).toEqual(Array.from({ length: 20 }, () => FACTS));
    expect(asked).toEqual([`terms ${ALICE}`, 'fits 1024', 'oi 1 3']);
  });

  it('is asked for each and at its own size where it does not fit', async () => {
    spare = 1_100n;
    expect(await knownFacts(venue, ALICE, sized(1_100n))).toEqual(FACTS);
    expect(await knownFacts(venue, ALICE, sized(1_101n))).toEqual({ ...FACTS, isWithinGroupOi: false });
    expect(asked.filter((question) => question.startsWith('fits'))).toEqual(['fits 1280', 'fits 1100', 'fits 1280', 'fits 1101']);
    spare = 2_000n;
    expect(await knownFacts(venue, ALICE, sized(1_101n))).toEqual(FACTS);
  });

  it('is unknown where this Diamond does not say, which is asked once too', async () => {
    spare = null;
    expect(await knownFacts(venue, ALICE, OPENING)).toBeNull();
    expect(await asks(ALICE, sized(1n))).toEqual([]);
    [spare, terms] = [10_000n, null];
    now += 1_000;
    expect(await knownFacts(venue, BOB, OPENING)).toBeNull();
  });

  it('is asked again when the clock was set back', async () => {
    await knownFacts(venue, ALICE, OPENING);
    now -= 3_600_000;
    expect(await asks(ALICE, OPENING)).toEqual([`terms ${ALICE}`, 'fits 1024', 'oi 1 3']);
  });

  it('is asked again when it did not answer', async () => {
    isSilent = true;
    await expect(Promise.all([ALICE, ALICE, BOB].map((trader) => knownFacts(venue, trader, OPENING)))).rejects.toThrow('no answer');
    isSilent = false;
    expect(await knownFacts(venue, ALICE, OPENING)).toEqual(FACTS);
  });

  it('is cached for ten thousand traders at most', async () => {
    const traders = Array.from({ length: 10_001 }, (_, at): Address => `0x${at.toString(16).padStart(40, '0')}`);
    for (const trader of traders) await knownFacts(venue, trader, OPENING);
    expect(await asks(traders[1] ?? ALICE, OPENING)).toEqual([]);
    expect(await asks(traders[0] ?? ALICE, OPENING)).toEqual([`terms ${traders[0]}`]);
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
  ])('is asked for in round numbers: %d as %d', (size, round) => {
    expect(roundedUp(size)).toBe(round);
  });
});
