import type { Knex } from 'knex';
import pg from 'pg';
import { SILENCE_MS } from './connect-database.js';
import { ask, askAll, askEach } from './in-one-go.js';
import { plain, type Question, type Statement, type Values } from './statement.js';

/**
 * What is asked while another trip is under way waits for it, a moment at most, and then travels together: one write, one transaction, one
 * commit for many requests. Whoever comes alone goes alone and at once.
 */
export interface SharedTrips {
  ask<Row>(asked: Statement, values: Values, company: Company): Promise<Row[]>;
}

export interface Company {
  /** By which those of a trip are put in order: what they lock is locked in the same order by every replica. */
  readonly order: string;
  /** Goes right before it, in the same transaction. */
  readonly before?: Question;
}

/** Of a statement that only reads. */
export const LOCKS_NOTHING: Company = { order: '' };

interface Traveller {
  readonly question: Question;
  readonly company: Company;
  readonly arrive: (rows: unknown[]) => void;
  readonly fail: (error: unknown) => void;
}

const MOST_TRAVELLERS = 16;
/** Each of two statements, and those around them all. */
const MOST_STATEMENTS = 2 * MOST_TRAVELLERS + 2;
/**
 * A trip is undone when one of its statements takes longer, so that the others do not wait for it. All of them together stay below the time
 * after which a server counts as silent: a trip that is given up by us and done by the server would place orders that were told to have
 * failed.
 */
const STATEMENT_MS = Math.floor(SILENCE_MS / MOST_STATEMENTS);
const LOCK_MS = 25;
/** A trip that takes longer is not waited for: the next one begins. */
const AHEAD_MS = 10;
/** Where there is company, more comes soon: the next trip waits for it. Whoever travels alone waits for nobody. */
const PACE_MS = 5;

const HURRY = plain(`
  select set_config('gateway.lock_timeout', current_setting('lock_timeout'), true),
    set_config('lock_timeout', '${LOCK_MS}', true), set_config('statement_timeout', '${STATEMENT_MS}', true)`);
/** The end of a trip waits for the ends of others, which is nobody's fault. */
const REST = plain(`select set_config('lock_timeout', current_setting('gateway.lock_timeout'), true)`);

export function createSharedTrips(db: Knex): SharedTrips {
  let waiting: Traveller[] = [];
  let isUnderWay = false;

  async function travelOn(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting.slice(0, MOST_TRAVELLERS);
      waiting = waiting.slice(MOST_TRAVELLERS);
      const more = group.length > 1 ? new Promise((resolve) => setTimeout(resolve, PACE_MS)) : null;
      await Promise.all([atMost(AHEAD_MS, travel(db, group.sort(inOrder))), more]);
    }
    isUnderWay = false;
  }

  return {
    ask: <Row>(asked: Statement, values: Values, company: Company) =>
      new Promise<Row[]>((arrive, fail) => {
        waiting.push({ question: { asked, values }, company, arrive: arrive as (rows: unknown[]) => void, fail });
        if (isUnderWay) return;
        isUnderWay = true;
        // Those whose requests came with the same read of the sockets are there by then.
        setImmediate(() => void travelOn());
      }),
  };
}

const inOrder = ({ company: a }: Traveller, { company: b }: Traveller): number => (a.order < b.order ? -1 : Number(a.order > b.order));

async function travel(db: Knex, group: readonly Traveller[]): Promise<void> {
  const [only] = group;
  if (group.length === 1 && only) return goAlone(db, only);
  try {
    const rows = (await askEach(db, [HURRY, ...group.flatMap(questionsOf), REST])).slice(1);
    for (const traveller of group) traveller.arrive(rows.splice(0, questionsOf(traveller).length).at(-1) ?? []);
  } catch (error) {
    if (wasUndone(error)) await Promise.all(group.map((traveller) => goAlone(db, traveller)));
    else for (const { fail } of group) fail(error);
  }
}

async function goAlone(db: Knex, traveller: Traveller): Promise<void> {
  const { question, company, arrive, fail } = traveller;
  try {
    arrive(await (company.before ? askAll(db, questionsOf(traveller)) : ask(db, question.asked, question.values)));
  } catch (error) {
    fail(error);
  }
}

const questionsOf = ({ question, company: { before } }: Traveller): Question[] => (before ? [before, question] : [question]);

/** The server goes away, or does not know itself what has become of it. How grave it is, it says in the language of its host. */
const OPEN_ENDED = /^(?:08|57P0|25P0[34]|58|F0|XX)/;

/** The server lives and says that one of them failed: nothing of the trip was kept, and the others have nothing to do with it. */
const wasUndone = (error: unknown): boolean => error instanceof pg.DatabaseError && !OPEN_ENDED.test(error.code ?? 'XX');

/** Until it is done, or so long; `work` never fails. */
const atMost = (ms: number, work: Promise<void>): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    void work.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
