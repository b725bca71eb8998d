import type { FacadeBot } from '../clients/facade-bot.js';
import type { CancelRequest, ClientRequest } from '../clients/surroundings.js';
import { isFinal, show, type Evidence, type Invariant } from './evidence.js';
import { levelHistory, levelRows, timeOfBlock, type ChainLevel, type LevelHistory, type LevelRow } from './level-history.js';

/** The fields of a listed order that are compared. */
interface Listed {
  readonly oid: number;
  readonly sz: string;
  readonly origSz: string;
  readonly limitPx: string;
  readonly triggerPx: string;
  readonly isTrigger: boolean;
  readonly reduceOnly: boolean;
  /** The take profit and the stop loss of an order that rests: `openOrders` lists them after it. */
  readonly children?: readonly Listed[];
}

/** What a facade says about the levels of one trader. */
interface Said {
  readonly listed: readonly Listed[];
  /** Of `openOrders`, which has the same orders. */
  readonly oids: readonly number[];
  /** By oid, and by cloid. */
  readonly statuses: ReadonlyMap<string, string>;
}

/**
 * Every take profit and stop loss on chain is listed under the order that set it last, at its price and size; nothing else is listed; the
 * status of each order by each of its names agrees; and what a bot was answered about a cancel or an order holds.
 */
export const levelsAreTheirOrders: Invariant = async (evidence) => {
  const complaints: string[] = [];
  for (const [at, bot] of evidence.bots.facade.entries()) {
    const key = evidence.bots.traders[at]?.privateKey;
    if (key === undefined) continue;
    const [rows, history] = [await levelRows(evidence, bot.trader), await levelHistory(evidence, bot.trader, key)];
    if (rows.length === 0 && history.levels.length === 0) continue;
    const said = await whatIsSaid(bot, rows);
    const found = [
      ...judgeLists(said, rows, history),
      ...judgeStatuses(said, rows, history),
      ...(await judgeAnswers(evidence, bot, rows, history)),
    ];
    for (const text of found) complaints.push(`${bot.name}: ${text}`);
  }
  return complaints;
};

const TRIES = 8;

/** A replica whose connection was cut, or whose node has not answered yet, is asked again, as a client does. */
async function asked<Body>(bot: FacadeBot, type: string, fields: object): Promise<Body> {
  for (let tries = 1; ; tries += 1) {
    const answer = await bot.info(type, fields);
    if (answer?.status === 200) return answer.body as Body;
    if (tries === TRIES) throw new Error(`${type} was answered with ${show(answer)}`);
  }
}

async function whatIsSaid(bot: FacadeBot, rows: readonly LevelRow[]): Promise<Said> {
  const outer = await asked<Listed[]>(bot, 'frontendOpenOrders', {});
  const listed = outer.flatMap((order) => [order, ...(order.children ?? [])]);
  const oids = (await asked<{ oid: number }[]>(bot, 'openOrders', {})).map(({ oid }) => oid);
  const statuses = new Map<string, string>();
  for (const { oid, cloid } of rows)
    for (const name of [Number(oid), ...(cloid === null ? [] : [cloid])]) {
      const { order } = await asked<{ order?: { status?: string } }>(bot, 'orderStatus', { oid: name });
      statuses.set(String(name), order?.status ?? 'unknownOid');
    }
  return { listed, oids, statuses };
}

/** Prices are shown on a tick of five digits. */
const isNear = (shown: string, price: bigint): boolean => Math.abs(Number(shown) / (Number(price) / 1e10) - 1) < 1e-4;
/** Trades differ by at least a hundredth; what is shown is rounded to lots. */
const SIZE_TOLERANCE = 0.004;

const COLLATERAL_SCALE = 1e6;

/** Approximately, in coins: USDC is the collateral of every trade. */
const sizeOf = ({ trade: { collateralAmount, leverage, openPrice } }: ChainLevel): number =>
  ((Number(collateralAmount) / COLLATERAL_SCALE) * (leverage / 1e3)) / (Number(openPrice) / 1e10);

function judgeLists({ listed, oids }: Said, rows: readonly LevelRow[], { levels }: LevelHistory): string[] {
  const complaints: string[] = [];
  const known = new Set(rows.map(({ oid }) => oid));
  const stepsOf = (owner: string): string => rows.find(({ oid }) => oid === owner)?.steps ?? 'none';
  if (listed.map(({ oid }) => oid).join() !== oids.join())
    complaints.push(`frontendOpenOrders lists ${listed.map(({ oid }) => oid).join()}, openOrders ${oids.join()}`);
  const shown = listed.filter(({ oid, isTrigger, reduceOnly }) => known.has(String(oid)) || (isTrigger && reduceOnly));
  const priceOf = ({ isTrigger, triggerPx, limitPx }: Listed): string => (isTrigger ? triggerPx : limitPx);
  for (const owner of new Set(levels.flatMap((level) => level.owner ?? []))) {
    const own = levels.filter((level) => level.owner === owner);
    const [row, ...more] = listed.filter(({ oid }) => String(oid) === owner);
    if (row === undefined || more.length > 0) {
      complaints.push(
        `${describe(own)} were set by order ${owner}, which is listed ${more.length + (row === undefined ? 0 : 1)} times; its jobs: ${stepsOf(owner)}`,
      );
      continue;
    }
    if (!own.some(({ price }) => isNear(priceOf(row), price)))
      complaints.push(`order ${owner} is listed at ${priceOf(row)}, but is ${describe(own)}`);
    // An order that also opens is listed with what it opens.
    if (!known.has(owner)) continue;
    const size = Math.min(
      Number(row.origSz),
      own.reduce((sum, level) => sum + sizeOf(level), 0),
    );
    if (Math.abs(Number(row.sz) - size) > SIZE_TOLERANCE)
      complaints.push(`order ${owner} is listed with ${row.sz} instead of ${size.toFixed(4)}: ${describe(own)}`);
  }
  const owners = new Set(levels.map(({ owner }) => owner));
  const waiting = new Set(rows.filter(({ is_waiting }) => is_waiting).map(({ oid }) => oid));
  for (const { oid } of shown)
    if (known.has(String(oid)) && !owners.has(String(oid)) && !waiting.has(String(oid)))
      complaints.push(`order ${oid} is listed, but no trade has its level`);
  // Levels of other clients have ids that no bot was given.
  const others = levels.filter(({ owner }) => owner === null);
  const rest = shown.filter(({ oid }) => !known.has(String(oid)));
  const isThere = ({ price }: ChainLevel): boolean => rest.some((row) => isNear(priceOf(row), price));
  if (rest.length !== others.length || !others.every(isThere))
    complaints.push(`${describe(others)} were set by no bot, and ${show(rest.map((row) => [row.oid, priceOf(row)]))} are listed as such`);
  return complaints;
}

const describe = (levels: readonly ChainLevel[]): string =>
  levels.map(({ kind, index, price }) => `the ${kind} of trade ${index} at ${Number(price) / 1e10}`).join(', ') || 'no level';

function judgeStatuses({ statuses }: Said, rows: readonly LevelRow[], { levels, filled }: LevelHistory): string[] {
  const complaints: string[] = [];
  const judge = (name: string, meant: readonly LevelRow[]): void => {
    if (meant.some(({ is_waiting }) => is_waiting)) return;
    const oids = meant.map(({ oid }) => oid);
    const own = levels.filter(({ owner }) => owner !== null && oids.includes(owner));
    const status = statuses.get(name) ?? '';
    if ((status === 'open') !== own.length > 0)
      complaints.push(`the status of order ${oids.join()} by ${name} is ${status}, on chain it has ${describe(own)}`);
    if (status === 'filled' && !oids.some((oid) => filled.has(oid)))
      complaints.push(`order ${oids.join()} is filled by its status by ${name}, but no trade was closed by it`);
  };
  for (const row of rows) judge(row.oid, [row]);
  // A cloid that changes kept means the order among them that is open.
  for (const name of new Set(rows.flatMap(({ cloid }) => cloid ?? [])))
    judge(
      name,
      rows.filter(({ cloid }) => cloid === name),
    );
  return complaints;
}

const GONE = /never placed, already canceled, or filled|Cannot modify canceled or filled order/;
const REPEATED = /nonce/i;

async function judgeAnswers(
  evidence: Evidence,
  bot: FacadeBot,
  rows: readonly LevelRow[],
  { levels, setIn }: LevelHistory,
): Promise<string[]> {
  const { record } = evidence.bots;
  // A cloid that changes kept does not say which of the orders was meant.
  const oidOf = (cloid: string): string | undefined => {
    const named = rows.filter((row) => row.cloid === cloid);
    const asked = record.requests.filter(({ id }) => id === cloid);
    return named.length === 1 && asked.length === 1 ? named[0]?.oid : undefined;
  };
  const standing = (cloid: string): readonly ChainLevel[] => levels.filter(({ owner }) => owner !== null && owner === oidOf(cloid));
  const complaints: string[] = [];
  const isJudged = ({ askedAt, client }: ClientRequest): boolean => client === bot.name && isFinal(evidence.faults, askedAt);
  for (const cancel of record.cancels.filter(({ of }) => isJudged(of))) {
    const own = standing(cancel.of.id);
    const oid = oidOf(cancel.of.id);
    if (own.length === 0 || oid === undefined) continue;
    const since = await timeOfBlock(evidence, setIn.get(oid) ?? 0n);
    if (cancel.status === 'success' && (await isMade(evidence, cancel)))
      complaints.push(`order ${oid} was answered as ${cancel.by === null ? 'canceled' : 'replaced'}, but it has ${describe(own)}`);
    if (GONE.test(cancel.status) && since <= cancel.askedAt)
      complaints.push(`order ${oid} was answered as gone, but it has had ${describe(own)} since before`);
  }
  for (const { id, answers } of record.requests.filter(isJudged)) {
    const isRefused = answers.length > 0 && answers.every(({ status }) => status.startsWith('error:') && !REPEATED.test(status));
    if (isRefused && standing(id).length > 0)
      complaints.push(
        `order ${oidOf(id)} was answered with ${answers.map(({ status }) => status).join()}, but it has ${describe(standing(id))}`,
      );
  }
  return complaints;
}

/** Whether every transaction of the order that takes the place of another one is in a block: if one is not, the former keeps its level there. */
async function isMade({ world }: Evidence, { by }: CancelRequest): Promise<boolean> {
  if (by === null) return true;
  const [row] = await world.gate.read<{ missing: number }>(
    `select count(*)::int as missing from relay_jobs job join exchange_orders o on o.action = job.parent where o.cloid = $1 and job.state <> 'mined'`,
    [by.id],
  );
  return row?.missing === 0;
}
