// Checks relay proofs offline: node scripts/verify-proof.mjs [--relayer 0x…] [--usual-leverage 5] [--collateral 3] proof.json …
// Verifies that: the signature is that of a key which the trader approved, over the body in the proof; the call is for its trader, market,
// side, collateral and leverage, no larger and at no worse a price than signed, with the triggers that were signed, and in time; the signed
// transaction is the relayer's, for the contract of its chain, and carries exactly that call; a transaction caused by a schedule or an
// unanswered request only cancels or closes what the context names; and of several proofs no two do the same part of an action.
// Needs viem and @msgpack/msgpack, and does not trust the service: nothing here is shared with it. The parts are in scripts/proof/.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { callsFor, checkRelayer, checkTransaction } from './proof/calls.mjs';
import { checkCalls } from './proof/meaning.mjs';
import { problemsOfRepeats } from './proof/repeats.mjs';
import { checkBody } from './proof/signatures.mjs';
import { unprovenOf } from './proof/unproven.mjs';

/**
 * All faults of the proof; empty = it holds. `expected` is what the reader knows from elsewhere: `relayer`, the delegate of the trader on
 * chain; `usualLeverage`, the one for traders that set none; `collateral`, the index of the one that bots trade with.
 */
export async function problemsOf(proof, expected = {}) {
  requireWhole(proof);
  const problems = [];
  const check = (holds, what) => void (holds || problems.push(what));
  const { envelope, approval } = await checkBody(proof, proof.trader, check);
  await checkTransaction(proof, check);
  checkRelayer(proof, approval, expected, check);
  if (proof.purpose === 'no-op') return problems;
  checkTimes(proof, envelope, approval, check);
  const leverage = await leverageIn(proof, check);
  checkCalls(callsFor(proof, check), { action: envelope.action, leverage, proof, expected }, check);
  return problems;
}

/** The faults of several proofs: each one's, and those that show only beside each other. */
export async function problemsOfAll(proofs, expected = {}) {
  const each = [];
  for (const proof of proofs) each.push(await problemsOf(proof, expected));
  return { each, together: await problemsOfRepeats(proofs) };
}

const FIELDS = ['chainId', 'approval', 'leverage', 'signedAt', 'minedAt', 'delegate', 'outcome'];

function requireWhole(proof) {
  const missing = FIELDS.filter((field) => proof[field] === undefined);
  if (missing.length > 0) throw new Error(`it has no ${missing.join(', ')}; fetch it again from a gateway of today`);
}

async function leverageIn({ leverage, trader, receivedAt }, check) {
  if (leverage === null) return null;
  const ofLeverage = (holds, what) => check(holds, `of the leverage: ${what}`);
  const { envelope } = await checkBody(leverage, trader, ofLeverage);
  ofLeverage(leverage.receivedAt <= receivedAt, 'it was set after the order');
  return envelope;
}

/** Between the last look at the clock and the signature. */
const SIGNING_MS = 10_000;
/** A transaction that was signed in time may wait for its block, until its nonce is given to another one. */
const WAITING_MS = 120_000;

function checkTimes({ purpose, receivedAt, signedAt, minedAt }, { expiresAfter }, approval, check) {
  if (purpose !== 'action') return;
  const latest = Math.min(expiresAfter ?? Infinity, approval?.endsAt ?? Infinity);
  check(receivedAt <= latest, `the action arrived at ${receivedAt}, after it or its key had expired at ${latest}`);
  check(signedAt <= latest + SIGNING_MS, `it was signed at ${signedAt}, after the action or its key had expired at ${latest}`);
  check(minedAt === null || minedAt <= latest + WAITING_MS, `it is in a block of ${minedAt}, and had expired at ${latest}`);
}

const USAGE = 'usage: node scripts/verify-proof.mjs [--relayer 0x…] [--usual-leverage 5] [--collateral 3] proof.json …';
const OPTIONS = { relayer: { type: 'string' }, 'usual-leverage': { type: 'string' }, collateral: { type: 'string' } };

/** What the command line names. */
function readCommand(args) {
  const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
  if (positionals.length === 0) throw new Error(USAGE);
  const number = (name) => (values[name] === undefined ? undefined : wholeNumber(name, values[name]));
  if (values.relayer !== undefined && !/^0x[0-9a-fA-F]{40}$/.test(values.relayer))
    throw new Error(`--relayer must be an address. ${USAGE}`);
  const expected = { relayer: values.relayer, usualLeverage: number('usual-leverage'), collateral: number('collateral') };
  return { files: positionals, expected };
}

function wholeNumber(name, text) {
  if (!/^\d{1,4}$/.test(text)) throw new Error(`--${name} must be a whole number. ${USAGE}`);
  return Number(text);
}

/** A file has one proof, or a list of them. */
function readProofs(file) {
  try {
    const read = JSON.parse(readFileSync(file, 'utf8'));
    return Array.isArray(read) ? read : [read];
  } catch (error) {
    throw new Error(`${file} cannot be read as a proof: ${error.message}`, { cause: error });
  }
}

/** An incomplete proof cannot be judged: that is no verdict on its content. */
async function judge(proofs, expected) {
  try {
    return await problemsOfAll(proofs, expected);
  } catch (error) {
    throw new Error(`it is no whole proof: ${error.message.split('\n')[0]}`, { cause: error });
  }
}

/** True if all of them hold. */
function report(proofs, expected, { each, together }) {
  for (const [at, problems] of each.entries()) {
    const name = proofs.length === 1 ? '' : ` of ${proofs[at].txHash}`;
    for (const problem of problems) console.error(`- ${problem}`);
    console.log(problems.length === 0 ? `The proof${name} holds.` : `The proof${name} does not hold.`);
    if (problems.length > 0) continue;
    console.log('Not proven offline:');
    for (const fact of unprovenOf(proofs[at], expected)) console.log(`- ${fact}`);
  }
  for (const problem of together) console.error(`- ${problem}`);
  if (together.length > 0) console.log('The proofs do not hold together.');
  return together.length === 0 && each.every(({ length }) => length === 0);
}

/** 0 = valid, 1 = invalid, 2 = cannot be judged. */
async function run(args) {
  try {
    const { files, expected } = readCommand(args);
    const proofs = files.flatMap(readProofs);
    return report(proofs, expected, await judge(proofs, expected)) ? 0 : 1;
  } catch (error) {
    console.error(error.message);
    return 2;
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) process.exitCode = await run(process.argv.slice(2));
