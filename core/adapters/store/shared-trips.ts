import type { Knex } from 'knex';
import pg from 'pg';
import { ask, askAll, askEach } from './in-one-go.js';
import type { Question } from './send-together.js';
import { statement, type Statement, type Values } from './statement.js';

/**
 * What is asked while another trip is under way waits for it and then travels together: one write, one transaction, one commit, however
 * many requests come at once. Whoever comes alone goes alone and at once.
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

const MOST_TRAVELLERS = 32;
/** One that somebody holds up, such as a replica that froze with a lock, does not hold up the others. */
const PATIENCE_MS = 100;
const HURRY: Question = { asked: statement(`select set_config('lock_timeout', '${PATIENCE_MS}', true)`), values: {} };

export function createSharedTrips(db: Knex): SharedTrips {
  let waiting: Traveller[] = [];
  let isUnderWay = false;

  async function travelOn(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting.slice(0, MOST_TRAVELLERS);
      waiting = waiting.slice(MOST_TRAVELLERS);
      await travel(db, group.sort(inOrder));
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
  const questions = [HURRY, ...group.flatMap(questionsOf)];
  try {
    const rows = (await askEach(db, questions)).slice(1);
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

/** The server lives and says that one of them failed: nothing of the trip was kept, and the others have nothing to do with it. */
const wasUndone = (error: unknown): boolean => error instanceof pg.DatabaseError && error.severity === 'ERROR';
