import { parseArgs } from 'node:util';
import { CommandError } from './command-client.js';

export const COMMANDS = ['status', 'pause', 'resume', 'drain', 'drill', 'rotate'] as const;
export type CommandName = (typeof COMMANDS)[number];

export interface CommandArguments {
  readonly command: CommandName;
  readonly chain: string | undefined;
  readonly wallet: string | undefined;
  readonly reason: string | undefined;
  readonly json: boolean;
  /** For `rotate`: cancels the rotation, the wallet stays. */
  readonly undo: boolean;
  /** How long `drain` waits for open jobs. */
  readonly waitMs: number;
}

export const USAGE = `Usage: npm run relayer -- <command> [options]

  status                     wallets with balance, mode and what they have to do
  pause                      nothing new is signed; what has a nonce is finished; clients get the reason
  drain                      what is queued is sent, nothing new is taken; waits until the wallets are empty
  resume                     everything as before
  drill nonce-gap            leaves a nonce out on purpose and measures how long the lane takes to heal
  rotate --wallet <address>  the wallet takes no new traders; lists the traders that still have to delegate to its successor

  --chain <chain>            all chains when absent
  --wallet <address>         all wallets of the chain when absent
  --reason <text>            of pause and drain: the text that clients get
  --wait <seconds>           of drain: 120; 0 does not wait
  --undo                     of rotate: the wallet stays after all
  --json                     the gateway's answer instead of a table

GATEWAY_URL (http://127.0.0.1:8080) says where the gateway is, OPERATOR_TOKEN or OPERATOR_TOKEN_FILE who asks.
Exit code: 0 done, 1 failed, 2 not understood, 3 a drain that is not empty or a lane that did not heal.`;

const OPTIONS = {
  chain: { type: 'string' },
  wallet: { type: 'string' },
  reason: { type: 'string' },
  wait: { type: 'string' },
  json: { type: 'boolean' },
  undo: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const NOT_UNDERSTOOD = 2;
const DEFAULT_WAIT_S = 120;

const misuse = (sentence: string): CommandError => new CommandError(`${sentence}\n\n${USAGE}`, NOT_UNDERSTOOD);

/** Null if the usage was asked for. */
export function readArguments(words: readonly string[]): CommandArguments | null {
  const { values, positionals } = parse(words);
  const [name, what, ...rest] = positionals;
  if (values.help === true || name === 'help') return null;
  if (name === undefined) throw misuse('Which command?');
  const command = COMMANDS.find((known) => known === name);
  if (command === undefined) throw misuse(`There is no command "${name}".`);
  if (command === 'drill' && what !== 'nonce-gap') throw misuse('The one drill there is: drill nonce-gap.');
  if (rest.length > 0 || (what !== undefined && command !== 'drill')) throw misuse(`${command} takes options only.`);
  if (command === 'rotate' && values.wallet === undefined) throw misuse('rotate needs --wallet, the one that shall go.');
  const wait = values.wait ?? String(DEFAULT_WAIT_S);
  if (!/^\d{1,5}$/.test(wait)) throw misuse('--wait is a number of seconds.');
  const { chain, wallet, reason, json = false, undo = false } = values;
  return { command, chain, wallet, reason, json, undo, waitMs: Number(wait) * 1000 };
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw misuse(error instanceof Error ? (error.message.split('. ', 1)[0] ?? 'Not understood') : 'Not understood');
  }
}
