import { WebSocket } from 'ws';
import { subscribeToHeads } from '../../core/adapters/evm/head-subscription.js';
import type { Logger } from '../../core/ports/log.js';
import type { BlockHead } from '../../core/types.js';
import { differs, ok, unreachable, type Outcome } from './finding.js';
import type { Probe } from './look.js';
import type { ChainConfig } from './probe-node.js';

const LISTEN_MS = 8_000;

/** Checks a node's announcements of new blocks over the gateway's own WebSocket client. */
export async function probeHeadSubscription(probe: Probe, url: string, part: string, { chain }: ChainConfig): Promise<void> {
  await probe.part(part)({
    check: 'new blocks over WebSocket',
    expected: `a block of chain ${chain.chainId} within ${LISTEN_MS / 1000} s`,
    timeoutMs: LISTEN_MS + 1_000,
    run: async (signal) => {
      await dial(url, signal);
      return firstWord(probe, url, chain.chainId, signal);
    },
  });
}

/** Connects directly, because the gateway's client reconnects without reporting the cause. */
function dial(url: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { followRedirects: false });
    const end = (settle: () => void): void => {
      socket.terminate();
      settle();
    };
    socket.on('open', () => end(resolve));
    socket.on('error', (error: Error & { code?: string }) => end(() => reject(new Error(error.code ?? error.message))));
    signal.addEventListener('abort', () => end(() => reject(new Error('given up'))));
  });
}

function firstWord({ clock }: Probe, url: string, chainId: number, signal: AbortSignal): Promise<Outcome> {
  return new Promise((resolve) => {
    const end = (outcome: Outcome): void => {
      hangUp();
      cancel();
      resolve(outcome);
    };
    const cancel = clock.after(LISTEN_MS, () => end(unreachable(`no block within ${LISTEN_MS / 1000} s`)));
    const foreign = (found: number): void => end(differs(`it serves chain id ${found}`));
    const hangUp = subscribeToHeads({ url, chainId, clock, log: listenFor(foreign) }, ({ number }: BlockHead) =>
      end(ok(`block ${number}`)),
    );
    signal.addEventListener('abort', () => end(unreachable('given up')));
  });
}

/** The client reports a foreign chain only in its log, so the log is captured. */
function listenFor(foreign: (chainId: number) => void): Logger {
  const silent = (): void => undefined;
  const log: Logger = {
    debug: silent,
    info: silent,
    error: silent,
    warn: (_, fields) => (typeof fields?.['chainId'] === 'number' ? foreign(fields['chainId']) : undefined),
    child: () => log,
  };
  return log;
}
