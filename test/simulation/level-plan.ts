import type { Random } from '../fuzz/random.js';
import type { ClientAction } from './plan.js';

/** Which take profit or stop loss an action is about. */
export interface LevelTerms {
  readonly tpsl: 'tp' | 'sl';
  /** Share of the start price between that price and the level. There are few, so that several orders have the same price. */
  readonly distance: number;
  /** For the whole position, or for its oldest trades. */
  readonly covers: 'all' | 'part';
  readonly grouping: 'na' | 'positionTpsl';
  /** How the order to be changed or canceled is named. */
  readonly name: 'oid' | 'cloid';
  /** The bot does not wait for the answer to what it did before. */
  readonly isAtOnce: boolean;
  /** By the fifth rules: a change keeps the cloid of the order. */
  readonly keepsCloid?: boolean;
  /** By the fifth rules: an order that rests is so near to the price that a price gap fills it. */
  readonly isNear?: boolean;
}

const OPENING = 'open-same-side';
/** Actions with levels, most of them often, so that chance finds every sequence of a few. */
const KINDS = [
  ...['set-level', 'set-level', 'set-level', 'set-level', 'change-level', 'change-level', 'cancel-level', 'cancel-level', 'list-levels'],
  ...['open-with-levels', OPENING, 'close-oldest', 'take-margin'],
] as const;
/** By the fifth rules also orders that rest with a take profit and a stop loss. */
const KINDS_WITH_RESTING = [...KINDS, 'rest-with-levels', 'rest-with-levels', 'rest-with-levels', 'change-rest', 'cancel-rest'] as const;
/** Of the trader's own wallet, by the native API. */
const WALLET_KINDS = ['guard', 'guard', 'guard', 'amend', 'cancel'] as const;
const WALLET_KINDS_WITH_RESTING = [...WALLET_KINDS, 'rest', 'rest'] as const;
const WALLET_SHARE = 0.25;

const DISTANCES = [0.03, 0.03, 0.03, 0.045, 0.045] as const;
/** The contract moves a stop loss so far away nearer to the price. */
const TOO_FAR = 0.3;
const TOO_FAR_SHARE = 0.08;
const AT_ONCE_SHARE = 0.3;
const MOST_GAP_MS = 3_500;
/** A level is for an open position: an opening has to be executed. */
const OPENING_MS = 2_000;

export interface LevelBots {
  /** Index of the facade's bot. */
  readonly bot: number;
  /** Index of its trader's wallet among the bots of the native API. */
  readonly wallet: number;
  readonly busyMs: number;
  /** Some orders rest with levels, and some changes keep the cloid. */
  readonly hasResting: boolean;
}

export function drawLevelActions(random: Random, { bot, wallet, busyMs, hasResting }: LevelBots): ClientAction[] {
  const isBuy = random.chance(0.5);
  const openings = random.int(2, 3);
  const count = random.int(5, 9);
  const lastsMs = openings * OPENING_MS + (count * MOST_GAP_MS) / 2;
  let at = random.int(0, Math.max(0, busyMs - lastsMs));
  const action = (kind: string, api: ClientAction['api'] = 'facade'): ClientAction => ({
    at,
    api,
    bot: api === 'facade' ? bot : wallet,
    kind,
    isBuy,
    size: `0.0${random.int(1, 9)}`,
    choice: random.fraction(),
    level: {
      tpsl: random.chance(0.75) ? 'sl' : 'tp',
      distance: random.chance(TOO_FAR_SHARE) ? TOO_FAR : random.pick(DISTANCES),
      covers: random.chance(0.4) ? 'part' : 'all',
      grouping: random.chance(0.3) ? 'positionTpsl' : 'na',
      name: random.chance(0.5) ? 'oid' : 'cloid',
      isAtOnce: kind !== OPENING && random.chance(AT_ONCE_SHARE),
      ...(hasResting && { keepsCloid: random.chance(0.5), isNear: random.chance(0.5) }),
    },
  });
  const actions: ClientAction[] = [];
  for (let turn = 0; turn < openings; turn += 1) {
    actions.push(action(random.chance(0.2) ? 'open-with-levels' : OPENING));
    at += OPENING_MS;
  }
  for (let turn = 0; turn < count; turn += 1) {
    const isWallet = random.chance(WALLET_SHARE);
    const [ofWallet, ofBot] = hasResting ? [WALLET_KINDS_WITH_RESTING, KINDS_WITH_RESTING] : [WALLET_KINDS, KINDS];
    actions.push(isWallet ? action(random.pick(ofWallet), 'native') : action(random.pick(ofBot)));
    at += random.int(0, MOST_GAP_MS);
  }
  return actions.filter((each) => each.at < busyMs);
}
