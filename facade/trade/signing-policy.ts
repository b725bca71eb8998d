import { approvalEnd } from '../../core/access/facade-agents.js';
import type { Crypto } from '../../core/access/signature.js';
import { createSharedReads } from '../../core/caching/shared-reads.js';
import { wrapFor } from '../../core/trading/encode-intent.js';
import type { Address, Hex } from '../../core/types.js';
import type { ChainDefinition, ChainSlug } from '../../core/chains/chains.js';
import type { Clock } from '../../core/ports/clock.js';
import type { SigningPolicy } from '../../core/ports/relayer.js';
import type { Store } from '../../core/ports/store.js';
import type { RelayJob, RelayPurpose, SignedAction } from '../../core/ports/stores/relay.js';
import { ACTIONS } from '../actions/index.js';
import { isTradeType, type TradeAction } from '../actions/trade.js';
import { readEnvelope, type Envelope, decodeAction, type Decoded } from '../signing/read-body.js';
import { actionHash, createPhantomDigest } from '../signing/l1-signature.js';
import { readOrderedJson } from '../signing/ordered-json.js';
import { lotOf } from '../universe.js';
import { deriveCalls, type OpeningCheck } from './derive-calls.js';
import { namesTarget } from './names-target.js';
import { isWithinSigned, namesNoOther, type OpeningFacts } from './opening-bounds.js';
import { readUserSigned, userSignedDigest } from '../signing/user-signed.js';

/** Why a stored action does not prove its trader's request; null if it does. */
export type VerifyAction = (action: SignedAction, purpose: RelayPurpose, now: number) => string | null;

/** The only doubt that time brings by itself. */
const ENDED = 'the approval of its agent has ended';

interface Approval {
  readonly trader: Address | null;
  readonly agent: Address;
  readonly endsAt: number | null;
}

/** A stored body, read as the exchange reads it when it arrives. */
interface SignedBody {
  readonly envelope: Envelope;
  readonly decoded: Decoded<unknown>;
}

export type ReadBody = (action: SignedAction) => SignedBody | null;

/**
 * Parses the text of a stored action once, for its signature, its expiry and its calls; null if it is no action that an agent signs. The body
 * was parsed when it arrived and its calls were derived when it was placed; both are done again here on purpose: the relayer signs only what
 * follows from the stored text whose signature it has just recovered, never what memory or a row of the database says it means.
 */
export function createBodyReader(): ReadBody {
  const known = new WeakMap<SignedAction, SignedBody | null>();
  const parse = (text: string): SignedBody | null => {
    const envelope = readEnvelope(readOrderedJson(Buffer.from(text)));
    const row = ACTIONS.get(envelope.type);
    if (row?.scheme !== 'l1' || row.schema === 'any') return null;
    return { envelope, decoded: decodeAction(row.schema, envelope.action) };
  };
  return (action) => {
    const read = known.get(action);
    if (read !== undefined) return read;
    const body = readable(() => parse(action.envelope));
    known.set(action, body);
    return body;
  };
}

/** The trading action in a body; null for any other. */
function tradeIn(body: SignedBody | null): TradeAction | null {
  return body !== null && isTradeType(body.envelope.type) ? (body.decoded.action as TradeAction) : null;
}

interface PolicyParts {
  readonly opening: OpeningFacts;
  readonly store: Store;
  readonly chain: ChainDefinition & { readonly slug: ChainSlug };
  /** Recovers signers of stored actions. */
  readonly crypto: Crypto;
  /** Whether a scheduled cancel may close positions. */
  readonly flattens: boolean;
  readonly clock: Clock;
}

/** What the relayer asks before every signature about the actions that the facade has stored. */
export function createSigningPolicy({ store, chain, crypto, flattens, opening, clock }: PolicyParts): Required<SigningPolicy> {
  const read = createBodyReader();
  const verify = createVerifyAction(crypto, read);
  const units = createUnits(store, chain.slug, clock);
  return {
    verify(action, { purpose }) {
      const doubt = verify(action, purpose, clock.now());
      return doubt === null ? null : { reason: doubt === ENDED ? 'outdated' : 'policy', note: doubt };
    },
    isExpired: (action) => clock.now() > (expiryOf(read(action)) ?? Infinity),
    async reencode(signed, job) {
      const action = tradeIn(read(signed));
      if (action === null) return [];
      const { id, trader } = signed;
      const known = await units();
      return orNothing(async () => {
        if (isFlattening(job) && !flattens) return [];
        const naming = await namesTarget(store, chain, { id, trader, action }, job);
        if (naming !== 'named') return naming === 'other' ? [] : naming;
        const unitsOf = (asset: number): Units => known.get(asset) ?? NO_UNITS;
        const measured = (...[order, intent]: Parameters<OpeningCheck>) =>
          isWithinSigned(opening, order, intent, unitsOf(intent.pairIndex).lot);
        const isWithin: OpeningCheck = (...of) => measured(...of) === true;
        const derive = (mayOpen: OpeningCheck) => deriveCalls({ action, trader }, job, (asset) => unitsOf(asset).multiplier, mayOpen);
        const calls = derive((order, intent) => namesNoOther(opening, intent) && isWithin(order, intent));
        if (calls.some((call) => isCallOf(job, trader, call))) return calls;
        // The settings may have been changed since it was accepted. Its row cannot prove that, so it is not sent; nor is it proof of a forgery.
        if (derive(isWithin).some((call) => isCallOf(job, trader, call))) return 'other-referrer';
        return derive((...of) => measured(...of) !== false).some((call) => isCallOf(job, trader, call)) ? 'no-price' : calls;
      });
    },
  };
}

const isCallOf = ({ data, wallet }: RelayJob, trader: Address, call: Hex): boolean =>
  data.toLowerCase().startsWith(wrapFor(wallet, trader, call).toLowerCase());

/** Derived from rows, which may hold anything: a job from which nothing can be derived means nothing. Failures of the database are thrown. */
async function orNothing<Calls>(derive: () => Promise<Calls>): Promise<Calls | readonly []> {
  try {
    return await derive();
  } catch (error) {
    if (isMalformed(error)) return [];
    throw error;
  }
}

/** SQLSTATE class 22: the database could not read a value that it was given. */
const isMalformed = (error: unknown): boolean =>
  error instanceof TypeError ||
  error instanceof RangeError ||
  error instanceof SyntaxError ||
  (error instanceof Error && 'code' in error && String(error.code).startsWith('22'));

const isFlattening = ({ context }: RelayJob): boolean => (context as { readonly kind?: unknown } | null)?.kind === 'flatten';

/** How long units are cached: fixed ones never change, only new ones are added. */
const UNITS_KEPT_MS = 1_000;

interface Units {
  /** The contract's units per facade unit. */
  readonly multiplier: bigint;
  /** Base units, 1e18. */
  readonly lot: bigint;
}

const NO_UNITS: Units = { multiplier: 1n, lot: 0n };

/** By pair. */
function createUnits({ facade }: Store, slug: ChainSlug, clock: Clock): () => Promise<ReadonlyMap<number, Units>> {
  const reads = createSharedReads<ChainSlug, ReadonlyMap<number, Units>>(clock, { maxAgeMs: UNITS_KEPT_MS, max: 1 });
  const load = async (): Promise<ReadonlyMap<number, Units>> => {
    const all = await facade.assets.all(slug);
    return new Map(
      all.map(({ pairIndex, multiplier, szDecimals }) => {
        const known = { multiplier: BigInt(multiplier), szDecimals };
        return [pairIndex, { multiplier: known.multiplier, lot: lotOf(known) }];
      }),
    );
  };
  return () => reads.get(slug, load);
}

/**
 * Recovers the signer of a stored action from its text, and the trader from the stored approval of that signer: write access to the
 * database without a key of a trader or agent is not enough to get anything signed. An action of a batch is recovered once.
 */
export function createVerifyAction({ keccak, recover }: Crypto, read: ReadBody = createBodyReader()): VerifyAction {
  const digest = createPhantomDigest(keccak);
  const verified = new WeakMap<SignedAction, string | null>();

  function signerOf(action: SignedAction): Address | null {
    const { form, network, nonce } = action;
    const { envelope, decoded } = read(action) ?? {};
    const signed = decoded?.forms.find((each) => each.form === form);
    if (envelope?.nonce !== nonce || signed === undefined) return null;
    return recover(digest(actionHash(keccak, signed.json, envelope), network), envelope.signature);
  }

  function approvalIn(text: string): Approval | null {
    const envelope = readEnvelope(readOrderedJson(Buffer.from(text)));
    const row = ACTIONS.get(envelope.type);
    if (row?.scheme !== 'user-signed' || row.verdict.kind !== 'approve-agent') return null;
    const signed = readUserSigned(row.signed, envelope.action);
    return {
      trader: recover(userSignedDigest(keccak, row.signed, signed), envelope.signature),
      agent: signed.values.get('agentAddress') as Address,
      endsAt: approvalEnd(String(signed.values.get('agentName'))),
    };
  }

  function doubtOf(action: SignedAction): string | null {
    return readable(() => signerOf(action)) === action.signer ? null : 'its signature is not that of its signer';
  }

  return (action, purpose, now) => {
    const doubt = verified.has(action) ? (verified.get(action) ?? null) : doubtOf(action);
    verified.set(action, doubt);
    // Reclaimed collateral always goes to the trader, independent of the requester.
    if (doubt !== null || action.signer === action.trader || purpose === 'reclaim') return doubt;
    if (action.approval == null) return 'the approval of its agent is not stored: let the trader approve the agent again';
    const { approval: text } = action;
    const approval = readable(() => approvalIn(text));
    if (approval?.trader !== action.trader || approval.agent !== action.signer)
      return 'the approval of its agent is not signed by its trader';
    const hasEnded = purpose === 'action' && approval.endsAt !== null && approval.endsAt <= now;
    return hasEnded ? ENDED : null;
  };
}

/** Null if it cannot be parsed: then it is no proof. */
function readable<Read>(read: () => Read): Read | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** Epoch ms of the expiry set by the client; null if there is none. */
export function expiryOf(body: SignedBody | null): number | null {
  const expiresAfter = body?.envelope.expiresAfter ?? null;
  return expiresAfter === null ? null : Number(expiresAfter);
}
