import { parseArgs } from 'node:util';
import type { Clock } from '../core/ports/clock.js';
import { CommandError, createOperatorClient, sandboxToken, type OperatorClient } from './command-client.js';
import {
  adoptionText,
  contractText,
  rotationText,
  statusText,
  switchesText,
  type AdoptionReply,
  type ContractReply,
  type RotationReply,
  type StatusReply,
  type SwitchesReply,
} from './command-texts.js';

export interface CommandSurroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readText: (path: string) => string;
  readonly clock: Clock;
  readonly write: (text: string) => void;
  readonly complain: (text: string) => void;
}

interface Work extends CommandArguments {
  readonly client: OperatorClient;
  readonly clock: Clock;
  /** Prints the reply, as a table or as raw JSON. */
  readonly show: (reply: unknown, text: string) => void;
  readonly note: (text: string) => void;
}

const NOT_DONE = 3;
const LOOK_MS = 500;

const COMMAND: Readonly<Record<CommandName, (work: Work) => Promise<number>>> = {
  status: showStatus,
  pause: (work) => turn(work, 'paused'),
  resume: (work) => turn(work, 'running'),
  drain,
  drill,
  rotate,
  contract: showContract,
  accept,
  settle,
  adopt,
};

/** Runs one command and returns the exit code. */
export async function runCommand(words: readonly string[], surroundings: CommandSurroundings): Promise<number> {
  const { write, complain, clock } = surroundings;
  try {
    const given = readArguments(words);
    if (given === null) return (write(`${USAGE}\n`), 0);
    const show = (reply: unknown, text: string): void => write(`${given.json ? JSON.stringify(reply, null, 2) : text}\n`);
    const note = (text: string): void => {
      if (!given.json) write(`${text}\n`);
    };
    return await COMMAND[given.command]({ ...given, client: await connect(surroundings), clock, show, note });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    complain(`${error.message}\n`);
    return error.exitCode;
  }
}

async function connect({ environment, readText }: CommandSurroundings): Promise<OperatorClient> {
  const url = (environment['GATEWAY_URL'] ?? `http://127.0.0.1:${environment['PORT'] ?? '8080'}`).replace(/\/+$/, '');
  if (!/^https?:\/\/[^@]+$/.test(url) || !URL.canParse(url))
    throw new CommandError('GATEWAY_URL must be an http or https URL without user info.');
  const token = tokenOf(environment, readText) ?? (await sandboxToken(url));
  if (token === null) throw new CommandError('Set OPERATOR_TOKEN or OPERATOR_TOKEN_FILE to what the gateway was started with.');
  return createOperatorClient({ url, token });
}

function tokenOf(environment: CommandSurroundings['environment'], readText: (path: string) => string): string | null {
  const [token, path] = [environment['OPERATOR_TOKEN']?.trim(), environment['OPERATOR_TOKEN_FILE']?.trim()];
  if (token) return token;
  if (!path) return null;
  try {
    return readText(path).trim();
  } catch {
    throw new CommandError('The file of OPERATOR_TOKEN_FILE cannot be read.');
  }
}

async function showStatus({ client, chain, wallet, show }: Work): Promise<number> {
  const [status, switches] = await Promise.all([client.get('/status'), client.get('/switches', { chain, wallet })]);
  show({ ...(status as object), switches }, statusText(status as StatusReply, switches as SwitchesReply));
  return 0;
}

async function turn({ client, chain, wallet, reason, show }: Work, mode: 'paused' | 'running'): Promise<number> {
  const reply = await client.post('/switches', { chain, wallet, mode, reason });
  show(reply, switchesText(reply as SwitchesReply));
  return 0;
}

/** Waits until no job is open, so that the operator can stop the process or remove the key afterwards. */
async function drain(work: Work): Promise<number> {
  const { client, clock, chain, wallet, reason, waitMs, show, note } = work;
  const end = clock.now() + waitMs;
  let reply = (await client.post('/switches', { chain, wallet, mode: 'draining', reason })) as SwitchesReply;
  let lastNote = '';
  for (;;) {
    const left = reply.chains.flatMap(({ wallets }) => wallets).reduce((sum, { queued, sent }) => sum + queued + sent, 0);
    const isEmpty = left === 0;
    if (isEmpty || clock.now() >= end) {
      show(reply, `${switchesText(reply)}\n\n${isEmpty ? 'Empty: nothing is under way.' : `Not empty yet: ${left} under way.`}`);
      return isEmpty ? 0 : NOT_DONE;
    }
    const said = `${left} under way …`;
    if (said !== lastNote) note(said);
    lastNote = said;
    await clock.sleep(LOOK_MS);
    reply = (await client.get('/switches', { chain, wallet })) as SwitchesReply;
  }
}

interface DrillReply {
  readonly chain: string;
  readonly wallet: string;
  readonly gap: number;
  readonly isHealed: boolean;
  readonly healedMs: number | null;
  readonly limitMs: number;
}

async function drill({ client, chain, wallet, show }: Work): Promise<number> {
  const reply = (await client.post('/drills/nonce-gap', { chain, wallet })) as DrillReply;
  const { isHealed, healedMs, limitMs, gap } = reply;
  const outcome = isHealed
    ? `Healed after ${((healedMs ?? 0) / 1000).toFixed(1)} s; ${limitMs / 1000} s are allowed.`
    : `Not healed within ${limitMs / 1000} s: look at status.`;
  show(reply, `${reply.chain} ${reply.wallet}: nonce ${gap} was left out.\n${outcome}`);
  return isHealed ? 0 : NOT_DONE;
}

async function rotate({ client, chain, wallet, undo, show, note }: Work): Promise<number> {
  let reply = (await client.post('/rotation', { chain, wallet, isRetiring: !undo })) as RotationReply;
  while (reply.isRetiring && reply.next !== null) {
    note(`${reply.waiting.length} still delegated to it, up to ${reply.next} …`);
    const more = (await client.get('/rotation', { chain, wallet, after: reply.next })) as RotationReply;
    reply = joined(reply, more);
  }
  show(reply, rotationText(reply));
  return 0;
}

async function showContract({ client, chain, show }: Work): Promise<number> {
  const reply = (await client.get('/contract', { chain })) as ContractReply;
  show(reply, contractText(reply));
  return 0;
}

async function accept({ client, chain, reason, show }: Work): Promise<number> {
  const reply = (await client.post('/contract/accept', { chain, reason })) as ContractReply;
  show(reply, contractText(reply));
  return 0;
}

async function settle({ client, chain, settlement, show }: Work): Promise<number> {
  const reply = (await client.post('/contract/settle', { chain, ...settlement })) as ContractReply;
  show(reply, contractText(reply));
  return 0;
}

async function adopt({ client, chain, wallet, show }: Work): Promise<number> {
  const reply = (await client.post('/adoptions', { chain, wallet })) as AdoptionReply;
  show(reply, adoptionText(reply));
  return 0;
}

/** Merges the pages of a rotation list. */
function joined(before: RotationReply, more: RotationReply): RotationReply {
  const [waiting, unknown] = [[...before.waiting, ...more.waiting], before.unknown + more.unknown];
  return { ...more, waiting, unknown, isDone: more.isDone && waiting.length === 0 && unknown === 0 };
}

const COMMANDS = ['status', 'pause', 'resume', 'drain', 'drill', 'rotate', 'contract', 'accept', 'settle', 'adopt'] as const;
type CommandName = (typeof COMMANDS)[number];

interface CommandArguments {
  readonly command: CommandName;
  readonly chain: string | undefined;
  readonly wallet: string | undefined;
  readonly reason: string | undefined;
  readonly json: boolean;
  /** For `rotate`: cancels the rotation, the wallet stays. */
  readonly undo: boolean;
  /** What `settle` says of a transaction. */
  readonly settlement: {
    readonly txHash: string | undefined;
    readonly as: string | undefined;
    readonly price: string | undefined;
    readonly tradeIndex: number | undefined;
  };
  /** How long `drain` waits for open jobs. */
  readonly waitMs: number;
}

const USAGE = `Usage: npm run relayer -- <command> [options]

  status                     wallets with balance, mode and what they have to do
  pause                      nothing new is signed; what has a nonce is finished; clients get the reason
  drain                      what is queued is sent, nothing new is taken; waits until the wallets are empty
  resume                     everything as before
  drill nonce-gap            leaves a nonce out on purpose and measures how long the lane takes to heal
  rotate --wallet <address>  the wallet takes no new traders; lists the traders that still have to delegate to its successor

  contract                   what the contracts changed or logged that this release does not know, and what it stops
  accept --chain <chain>     positions are opened again though the contracts differ from what this release expects
  settle --chain <chain> --tx <hash> --as filled|rejected
                             what became of the orders of a transaction that this release cannot read

  adopt                      after lost commits: agents of the facade open again; and wallets that the database does not know are used

  --chain <chain>            all chains when absent
  --wallet <address>         all wallets of the chain when absent
  --reason <text>            of pause and drain: the text that clients get; of accept: for the record
  --price <price>            of settle: the price of the execution; of an opening the contract knows it
  --trade <index>            of settle: the trade that the opening made
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
  tx: { type: 'string' },
  as: { type: 'string' },
  price: { type: 'string' },
  trade: { type: 'string' },
  json: { type: 'boolean' },
  undo: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const NOT_UNDERSTOOD = 2;
const DEFAULT_WAIT_S = 120;

const misuse = (sentence: string): CommandError => new CommandError(`${sentence}\n\n${USAGE}`, NOT_UNDERSTOOD);

/** Null if the usage was asked for. */
function readArguments(words: readonly string[]): CommandArguments | null {
  const { values, positionals } = parse(words);
  const [name, what, ...rest] = positionals;
  if (values.help === true || name === 'help') return null;
  if (name === undefined) throw misuse('Which command?');
  const command = COMMANDS.find((known) => known === name);
  if (command === undefined) throw misuse(`There is no command "${name}".`);
  if (command === 'drill' && what !== 'nonce-gap') throw misuse('The one drill there is: drill nonce-gap.');
  if (rest.length > 0 || (what !== undefined && command !== 'drill')) throw misuse(`${command} takes options only.`);
  if (command === 'rotate' && values.wallet === undefined) throw misuse('rotate needs --wallet, the one that shall go.');
  const isAboutOne = command === 'accept' || command === 'settle';
  if (isAboutOne && values.chain === undefined) throw misuse(`${command} needs --chain.`);
  if (command === 'settle' && (values.tx === undefined || values.as === undefined)) throw misuse('settle needs --tx and --as.');
  if (values.trade !== undefined && !/^\d{1,9}$/.test(values.trade)) throw misuse('--trade is the index of a trade.');
  const wait = values.wait ?? String(DEFAULT_WAIT_S);
  if (!/^\d{1,5}$/.test(wait)) throw misuse('--wait is a number of seconds.');
  const { chain, wallet, reason, json = false, undo = false } = values;
  const tradeIndex = values.trade === undefined ? undefined : Number(values.trade);
  const settlement = { txHash: values.tx, as: values.as, price: values.price, tradeIndex };
  return { command, chain, wallet, reason, json, undo, settlement, waitMs: Number(wait) * 1000 };
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw misuse(error instanceof Error ? (error.message.split('. ', 1)[0] ?? 'Not understood') : 'Not understood');
  }
}
