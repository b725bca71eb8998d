import { ACTIONS } from '../../facade/actions/index.js';
import { INFO_TYPES } from '../../facade/info/info-handler.js';
import type { UserSignedField } from '../../facade/signing/user-signed.js';
import { findSubscription, SUBSCRIPTION_NAMES } from '../../facade/ws/subscriptions.js';
import type { FrameInput, HttpInput, Signing } from './input.js';
import { oddHeaders, type Materials } from './materials.js';
import { bodyOf, mutateTree } from './mutate.js';
import type { Random } from './random.js';
import { objectTree, treeOf, writeTree, type Tree } from './tree.js';

/** Inputs for `/hl`, made from the tables of info types, actions and subscriptions. */

const INFO = [...INFO_TYPES.values()];
/** Charts are put together anew for every range that is asked for, so they are asked for less often than the others. */
const CHEAP_INFO = INFO.filter(({ type }) => type !== 'candleSnapshot');
const ROWS = [...ACTIONS.values()];
const L1_ROWS = ROWS.filter((row) => row.scheme === 'l1');
const TRADES = L1_ROWS.filter(({ verdict }) => verdict.kind === 'trade');
const USER_ROWS = ROWS.filter((row) => row.scheme === 'user-signed');

const typed = (type: string, fields: unknown): Tree => treeOf({ type, ...(fields as object) });

function infoTree({ example }: Materials, random: Random): Tree {
  const { type, fields } = random.pick(random.chance(0.95) ? CHEAP_INFO : INFO);
  return typed(type, example(fields, random));
}

const pathTo = ({ slug }: Materials, word: string, random: Random): string =>
  random.chance(0.03)
    ? random.pick([`/hl/${word}`, `//hl//${slug}//${word}/`, `/hl/x/${word}`, `/hl/${slug}/${word}?x=%00`, `/hl/%2e%2e/${word}`])
    : `/hl/${slug}/${word}`;

export function infoQuestion(materials: Materials, random: Random): HttpInput {
  const method = random.chance(0.02) ? random.pick(['GET', 'OPTIONS', 'PUT', 'HEAD']) : 'POST';
  const body = bodyOf(infoTree(materials, random), random, 0.85);
  return { kind: 'http', method, path: pathTo(materials, 'info', random), headers: oddHeaders(random, true), body };
}

function l1Tree({ example }: Materials, random: Random, isTrading: boolean): Tree {
  const row = random.pick(isTrading ? TRADES : L1_ROWS);
  return row.schema === 'any' ? objectTree({ type: row.type, x: random.pick(['', 'x']) }) : treeOf(example(row.schema, random));
}

const FIELD_EXAMPLES: Readonly<Record<UserSignedField['type'], readonly Tree[]>> = {
  string: ['', 'fuzz', '1.5', 'x'.repeat(40)],
  address: [`0x${'1'.repeat(40)}`, `0x${'0'.repeat(40)}`, `0x${'aB'.repeat(20)}`],
  bool: [true, false],
  uint32: [0, 1, 4_294_967_295],
  uint64: ['__nonce__', 0, 1],
  bytes: ['0x', '0x00ff'],
  bytes32: [`0x${'1'.repeat(64)}`],
};

function userTree(random: Random): Tree {
  const { type, signed } = random.pick(USER_ROWS);
  const fields = signed.fields.map(({ name, type: kind }): [string, Tree] => [name, random.pick(FIELD_EXAMPLES[kind])]);
  const kept = fields.filter(([name]) => name !== 'hyperliquidChain' && name !== 'nonce' && name !== 'time');
  return {
    entries: [
      ['type', type],
      ['signatureChainId', '0x66eee'],
      ['hyperliquidChain', random.chance(0.9) ? 'Testnet' : 'Mainnet'],
      ...kept,
      [signed.fields.some(({ name }) => name === 'time') ? 'time' : 'nonce', '__nonce__'],
    ],
  };
}

/** Envelopes that no key signed; most are refused before a signature is looked at. */
export function unsignedAction(materials: Materials, random: Random): HttpInput {
  const action = random.chance(0.8) ? l1Tree(materials, random, false) : userTree(random);
  const signature = objectTree({ r: `0x${'1'.repeat(64)}`, s: `0x${'2'.repeat(64)}`, v: 27 });
  const envelope = objectTree({ action, nonce: 1_700_000_000_000, signature, vaultAddress: null });
  mutateTree(random.chance(0.9) ? envelope : signature, random);
  if (random.chance(0.8)) envelope.entries.splice(random.int(0, envelope.entries.length - 1), 1);
  return {
    kind: 'http',
    method: 'POST',
    path: pathTo(materials, 'exchange', random),
    headers: oddHeaders(random, true),
    body: bodyOf(envelope, random, 0.3),
  };
}

const actionText = (tree: Tree, random: Random, changed: number): string => {
  if (random.chance(changed)) mutateTree(tree, random);
  return writeTree(tree);
};

function signedTree(materials: Materials, random: Random): { readonly text: string; readonly signing: Signing } {
  if (random.chance(0.2)) return { text: actionText(userTree(random), random, 0.5), signing: { scheme: 'user-signed' } };
  // An unknown signer is expensive: the gateway looks for the mistake that its client may have made.
  const signing: Signing = { scheme: 'l1', isKnown: random.chance(0.97) };
  return { text: actionText(l1Tree(materials, random, random.chance(0.7)), random, 0.55), signing };
}

/** Signed by an approved agent of a trader with funds. */
export function signedAction(materials: Materials, random: Random): HttpInput {
  const { text, signing } = signedTree(materials, random);
  return {
    kind: 'http',
    method: 'POST',
    path: `/hl/${materials.slug}/exchange`,
    headers: [['Content-Type', 'application/json']],
    body: Buffer.from(text),
    signing,
  };
}

function subscriptionTree({ example }: Materials, random: Random): Tree {
  const type = random.pick(SUBSCRIPTION_NAMES);
  const row = findSubscription(type);
  return typed(type, row === undefined ? {} : example(row.fields, random));
}

export function facadeFrame(materials: Materials, random: Random): FrameInput {
  const kind = random.int(0, 99);
  if (kind < 2) {
    const { text, signing } = signedTree(materials, random);
    return { kind: 'frame', api: 'hl', payload: Buffer.from(`__post:${random.int(0, 1_000)}__${text}`), isBinary: false, signing };
  }
  const tree =
    kind < 70
      ? objectTree({ method: random.pick(['subscribe', 'subscribe', 'unsubscribe']), subscription: subscriptionTree(materials, random) })
      : kind < 90
        ? objectTree({
            method: 'post',
            id: random.int(0, 1_000),
            request: objectTree({ type: 'info', payload: infoTree(materials, random) }),
          })
        : kind < 97
          ? objectTree({
              method: 'post',
              id: random.int(0, 1_000),
              request: objectTree({ type: 'action', payload: objectTree({ action: l1Tree(materials, random, false) }) }),
            })
          : objectTree({ method: 'ping' });
  return { kind: 'frame', api: 'hl', payload: bodyOf(tree, random, 0.85), isBinary: random.chance(0.02) };
}
