import type { Clock } from '../core/ports/clock.js';
import { readArguments, USAGE, type CommandArguments, type CommandName } from './command-arguments.js';
import { CommandError, createOperatorClient, sandboxToken, type OperatorClient } from './command-client.js';
import { rotationText, statusText, switchesText, type RotationReply, type StatusReply, type SwitchesReply } from './command-texts.js';

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

/** Merges the pages of a rotation list. */
function joined(before: RotationReply, more: RotationReply): RotationReply {
  const [waiting, unknown] = [[...before.waiting, ...more.waiting], before.unknown + more.unknown];
  return { ...more, waiting, unknown, isDone: more.isDone && waiting.length === 0 && unknown === 0 };
}
