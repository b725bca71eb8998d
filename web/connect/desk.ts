import type { Signal } from '@preact/signals';
import type { ChainInfo, Hex, Market, TraderReadiness } from '@diamond-gateway/client/api';
import { CHAINS, type ChainFacts, type ChainSlug } from '@diamond-gateway/client/chains';
import { masterTransaction, type MasterTransactionWish } from '@diamond-gateway/client/master';
import { request } from '../api/request.js';
import type { Resource } from '../api/resource.js';
import type { PageContext } from '../ui/shell.js';
import type { SandboxFacts } from './demo-wallet.js';
import { rpcOf, sendTransaction, type Session, type WalletTransaction } from './session.js';
import type { Report } from './steps.js';

/** The native API and the Hyperliquid API: two ways to the same contracts, each with an agent of its own. */
export type Api = 'native' | 'hyperliquid';
export const API_NAMES: Readonly<Record<Api, string>> = { native: 'Native API', hyperliquid: 'Hyperliquid API' };

/** Agent keys that this tab holds, by api. They are in no storage and in no request. */
export type AgentKeys = Readonly<Record<Api, Hex | null>>;

/** What the cards work with once a wallet is connected and on the right chain. */
export interface Desk {
  readonly page: PageContext;
  /** Of the client, not of the gateway: the Diamond's address must not come from whom it protects against. */
  readonly chain: ChainFacts & { readonly slug: string };
  readonly info: ChainInfo;
  readonly markets: readonly Market[];
  /** Null outside the sandbox. */
  readonly sandbox: SandboxFacts | null;
  readonly session: Session;
  readonly readiness: Resource<TraderReadiness>;
  readonly keys: Signal<AgentKeys>;
  /** The api for which the agent's card is open. */
  readonly api: Signal<Api>;
}

export const chainFacts = (slug: string): (ChainFacts & { readonly slug: string }) | null => {
  const known = (CHAINS as Readonly<Record<string, ChainFacts | undefined>>)[slug as ChainSlug];
  return known === undefined ? null : { ...known, slug };
};

export interface Collateral {
  readonly symbol: string;
  readonly address: Hex;
  readonly decimals: number;
}

/** The tokens that some market takes. Outside the sandbox only those that the client knows by their address. */
export function collateralsOf({ chain, markets, sandbox }: Pick<Desk, 'chain' | 'markets' | 'sandbox'>): Collateral[] {
  const all = new Map(markets.flatMap(({ collaterals }) => collaterals).map((token) => [token.address.toLowerCase(), token]));
  const isKnown = (address: Hex): boolean => chain.collaterals.some((one) => one.address.toLowerCase() === address.toLowerCase());
  return [...all.values()].filter(({ address }) => sandbox !== null || isKnown(address));
}

export const readReadiness = (base: string, address: string, signal?: AbortSignal) =>
  request<TraderReadiness>(`${base}/readiness/${address}`, signal === undefined ? {} : { signal });

const PAUSE_MS = 300;
const CHECKS = 40;
/** Ten minutes, also on a chain that is congested. */
const MINED_CHECKS = 2_000;
const pause = (): Promise<void> => new Promise((done) => setTimeout(done, PAUSE_MS));

/** Reads the lines again until one shows what was done: the gateway's node may be a block behind the wallet's. */
export async function checkAgain({ page, session, readiness }: Desk, isDone: (found: TraderReadiness) => boolean): Promise<boolean> {
  for (let tries = 0; tries < CHECKS; tries += 1) {
    const answer = await readReadiness(page.base, session.address);
    if (answer.ok && isDone(answer.data)) {
      readiness.refresh();
      return true;
    }
    await pause();
  }
  readiness.refresh();
  return false;
}

export const lineOk = (check: string) => (found: TraderReadiness) => found.lines.some((line) => line.check === check && line.ok);

/** Waits for the receipt at the wallet's node. */
export async function untilMined(session: Session, hash: Hex): Promise<void> {
  const rpc = rpcOf(session);
  for (let tries = 0; tries < MINED_CHECKS; tries += 1) {
    // It is sent: a node that does not answer once must not make the person send it again.
    const receipt = (await rpc('eth_getTransactionReceipt', [hash]).catch(() => null)) as { readonly status?: unknown } | null;
    if (receipt !== null) {
      if (Number(receipt.status) === 1) return;
      throw new Error(`The transaction ${hash} was reverted: nothing has changed.`);
    }
    await pause();
  }
  throw new Error(
    `The transaction ${hash} has not been mined for ten minutes. Look it up in your wallet: it may be waiting for a higher fee.`,
  );
}

interface Sending {
  readonly desk: Desk;
  readonly transaction: WalletTransaction;
  /** What the wallet asks for. */
  readonly ask: string;
  readonly isDone: (found: TraderReadiness) => boolean;
  readonly report: Report;
}

/** Wallet, sent, mined, line checked again. */
export async function sendAndCheck({ desk, transaction, ask, isDone, report }: Sending): Promise<{ text: string; hash: Hex }> {
  report({ kind: 'wallet', text: ask });
  const hash = await sendTransaction(desk.session, transaction);
  report({ kind: 'sent', hash });
  await untilMined(desk.session, hash);
  report({ kind: 'mined', hash });
  const isSeen = await checkAgain(desk, isDone);
  return {
    text: isSeen ? 'Mined, and the line was checked again.' : 'Mined. The gateway has not seen it yet; it looks again every few seconds.',
    hash,
  };
}

/** Made in the page out of what the trader chose; nothing of it comes from the gateway. */
export const transactionOf = ({ chain }: Desk, wish: MasterTransactionWish): WalletTransaction => {
  const { to, data } = masterTransaction(chain, wish);
  return { to, data };
};

/** The agents of a api that are in force, newest first. */
export const agentsOf = ({ agents }: Pick<TraderReadiness, 'agents'>, api: Api) =>
  agents.filter(({ mode }) => mode === (api === 'native' ? 'self' : 'relayed'));

export const sameAddress = (a: string | null, b: string | null): boolean => a !== null && b !== null && a.toLowerCase() === b.toLowerCase();
