import { callsFor, readTransaction } from './calls.mjs';
import { CLOSES } from './meaning.mjs';

/**
 * Several proofs together: a signature allows each part of it once. What an order of an action may do more than once, and how often, is
 * decided by `partOf` alone: one that becomes several transactions on purpose has a part for each of them.
 */

/** A transaction that failed, or whose nonce another one used, did nothing. */
const NEVER_DONE = ['reverted', 'replaced', 'refused'];
/** What the contract said of an order that did not happen. */
const NEVER_EXECUTED = ['rejected', 'expired', 'canceled'];

const ignore = () => undefined;

/** The part of the signed item that a transaction is. */
function partOf(proof) {
  const { kind, intent, isLeftToRest } = JSON.parse(proof.context);
  const { functionName, args } = callsFor(proof, ignore).at(-1);
  if (functionName === 'openTrade') return isLeftToRest === true ? 'opening that rests' : 'opening';
  if (kind === 'margin') return 'margin';
  const what = CLOSES.includes(functionName) ? 'close' : kind === 'cancel' ? (intent?.kind ?? kind) : functionName;
  return `${what} of ${args[0]}`;
}

/** What is wrong with the proofs of one trader beside each other. */
export async function problemsOfRepeats(proofs) {
  const problems = [];
  const seen = new Map();
  for (const proof of await transactionsOf(proofs)) {
    const { item = 0, kind, context } = JSON.parse(proof.context);
    const name = `${proof.chainId} ${proof.signer.toLowerCase()} ${proof.nonce} ${proof.purpose} ${item}`;
    const parts = seen.get(name) ?? seen.set(name, []).get(name);
    parts.push({ proof, part: partOf(proof), facts: kind === 'order' ? JSON.stringify(context) : null });
  }
  for (const parts of seen.values()) checkParts(parts, problems);
  return problems;
}

/** One for each transaction that may have done something: those of one nonce of the relayer are one, at most one of them is in a block. */
async function transactionsOf(proofs) {
  const found = new Map();
  for (const proof of proofs.filter(({ purpose, state }) => purpose !== 'no-op' && !NEVER_DONE.includes(state))) {
    const { nonce, from } = (await readTransaction(proof.rawTransaction)) ?? {};
    found.set(nonce === undefined ? proof.txHash : `${proof.chainId} ${from} ${nonce}`, proof);
  }
  return found.values();
}

function checkParts(parts, problems) {
  const [{ proof }] = parts;
  const what = `item ${JSON.parse(proof.context).item ?? 0} of the action with the nonce ${proof.nonce} of ${proof.signer}`;
  const twice = parts.filter(({ part }, at) => parts.findIndex((other) => other.part === part) !== at);
  for (const { part, proof: again } of twice) problems.push(`${what} was sent twice (${part}): ${again.txHash}`);
  const rests = parts.filter(({ proof: { context } }) => JSON.parse(context).isLeftToRest === true);
  const atOnce = parts.filter((each) => !rests.includes(each));
  const executed = rests.length === 0 ? [] : atOnce.filter(({ proof: { outcome } }) => !NEVER_EXECUTED.includes(outcome));
  for (const each of executed) problems.push(`${what} was left to rest although it was executed: ${each.proof.txHash}`);
  // What one transaction of an order leaves for the next follows from the same trades and prices.
  for (const group of [rests, atOnce])
    if (new Set(group.flatMap(({ facts }) => facts ?? [])).size > 1) problems.push(`${what} was sent by different figures`);
}
