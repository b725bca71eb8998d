import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { sandboxRpc } from './demo-wallet.js';
import { guardActs, type Session } from './session.js';

/**
 * A sandbox has the chain ids and the addresses of real chains, and its relayer's key is public: what a wallet signs for it is valid on the
 * real chain as well. So a wallet may act only while its own node is this sandbox's.
 */
export type Verdict =
  /** Not known yet. */
  | null
  /** Another node. */
  | true
  /** This sandbox. */
  | false;

interface Checked {
  readonly provider: Session['wallet']['provider'];
  readonly chainId: number;
  readonly isOther: boolean;
}

const last = signal<Checked | null>(null);
const CHECK_MS = 3_000;

/** The newest block of the wallet's node has to be a block of this sandbox. A node that does not answer proves nothing. */
async function compare({ wallet: { provider } }: Session, chain: string): Promise<Verdict> {
  try {
    // Twice: a reorganisation may undo the first block between the two questions.
    for (let tries = 0; tries < 2; tries += 1) {
      const block = (await provider.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })) as { hash?: unknown } | null;
      if (typeof block?.hash !== 'string') return null;
      if ((await sandboxRpc(chain, 'eth_getBlockByHash', [block.hash, false])) !== null) return false;
    }
    return true;
  } catch {
    return null;
  }
}

/** Asks both nodes now. A question without an answer leaves what is known. */
export async function checkNode(session: Session, chain: string): Promise<Verdict> {
  const { wallet, chainId } = session;
  const isOther = wallet.demo === null ? await compare(session, chain) : false;
  if (isOther !== null) last.value = { provider: wallet.provider, chainId, isOther };
  return isOther;
}

export function verdictOf({ wallet, chainId }: Session): Verdict {
  if (wallet.demo !== null) return false;
  const known = last.value;
  return known?.provider === wallet.provider && known.chainId === chainId ? known.isOther : null;
}

/** Compares again and again, because a person can change the node in the wallet, and once more before each act. */
export function useNodeCheck(session: Session | null, chain: string, isSandbox: boolean): void {
  const provider = session?.wallet.provider;
  useEffect(() => {
    if (!isSandbox || session === null) return undefined;
    void checkNode(session, chain);
    const timer = setInterval(() => void checkNode(session, chain), CHECK_MS);
    return () => clearInterval(timer);
  }, [provider, session?.chainId, chain, isSandbox]);
  useEffect(() => {
    if (!isSandbox) return undefined;
    return guardActs(async (acting) => {
      const isOther = await checkNode(acting, chain);
      if (isOther === true) throw new Error('The wallet asks another node than this sandbox. Nothing was signed or sent.');
      if (isOther === null) throw new Error('The wallet’s node cannot be compared with this sandbox now. Nothing was signed or sent.');
    });
  }, [chain, isSandbox]);
}
