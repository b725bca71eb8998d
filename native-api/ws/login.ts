import { apiKeyHash } from '../../core/access/api-keys.js';
import { authenticateAgent, authenticateKey } from '../../core/access/authenticate.js';
import type { Caller } from '../../core/access/caller.js';
import { GatewayError } from '../../core/errors.js';
import type { Gateway } from '../../core/gateway.js';
import { refuseExceeded } from '../../core/access/limits.js';
import type { Cancel } from '../../core/types.js';
import type { Credential, VenueStream } from '../../core/stream/venue-stream.js';
import type { ClientMessage } from './messages.js';

export type AuthMessage = Extract<ClientMessage, { op: 'auth' }>;

export interface LoginOptions {
  readonly gateway: Gateway;
  readonly stream: VenueStream;
  readonly address: string;
  readonly onEntered: (caller: Caller) => void;
  readonly onRefused: (error: unknown) => void;
  /** The login is no longer valid. */
  readonly onLost: (reason: GatewayError) => void;
  /** Called for errors that no other handler can report; it cannot throw. */
  readonly fail: (error: unknown) => void;
}

/** The authenticated caller of a connection, for as long as its credential is valid. */
export interface Login {
  caller(): Caller | null;
  enter(message: AuthMessage): void;
  /** Runs at once, or after a pending login, as later messages may depend on it. */
  whenSettled(task: () => void): void;
  leave(): void;
}

export function openLogin({ gateway, stream, address, onEntered, onRefused, onLost, fail }: LoginOptions): Login {
  let caller: Caller | null = null;
  let isBusy = false;
  let isGone = false;
  let stopWatch: Cancel = () => undefined;
  const waiting: (() => void)[] = [];

  const lose = (reason: GatewayError): void => {
    stopWatch();
    stopWatch = () => undefined;
    caller = null;
    onLost(reason);
  };

  const watch = (credential: Credential): void => {
    const held = stream.credential(credential);
    const cancel = held.part.listen(lose);
    stopWatch();
    stopWatch = () => {
      cancel();
      held.release();
    };
  };

  const admit = ({ caller: found, credential }: Admitted): void => {
    if (isGone) return;
    // A connection belongs to one account: its subscriptions must not pass to another.
    if (caller !== null && caller.trader !== found.trader) throw new GatewayError('TRADER_MISMATCH', { address: caller.trader });
    caller = found;
    watch(credential);
    onEntered(found);
  };

  /** Runs the waiting tasks up to the next login. A failing task must not block those after it. */
  const settle = (): void => {
    isBusy = false;
    while (!isLoggingIn()) {
      const task = waiting.shift();
      if (task === undefined) return;
      try {
        task();
      } catch (error) {
        fail(error);
      }
    }
  };
  const isLoggingIn = (): boolean => isBusy;

  return {
    caller: () => caller,
    enter(message) {
      // Each attempt counts as a request, so that guessing is not cheaper here.
      refuseExceeded([gateway.access.countAddress(address)]);
      isBusy = true;
      identify(gateway, stream, message)
        .then(admit)
        .catch((error: unknown) => !isGone && onRefused(error))
        .catch(fail)
        .finally(settle);
    },
    whenSettled: (task) => (isBusy ? void waiting.push(task) : task()),
    leave() {
      isGone = true;
      stopWatch();
      waiting.length = 0;
    },
  };
}

interface Admitted {
  readonly caller: Caller;
  readonly credential: Credential;
}

const NO_BODY = new Uint8Array();

/** The handshake is signed like a request: method WS, the socket's path, no body. */
async function identify(gateway: Gateway, { venue }: VenueStream, message: AuthMessage): Promise<Admitted> {
  if ('apiKey' in message) {
    const { caller } = await authenticateKey(gateway, venue, { isWrite: false }, message.apiKey);
    return { caller, credential: { kind: 'apiKey', hash: apiKeyHash(message.apiKey) ?? '' } };
  }
  const path = `/v1/${venue.definition.slug}/ws`;
  const request = { operationId: 'wsAuth', method: 'WS', path, isWrite: false, body: NO_BODY };
  const { caller } = await authenticateAgent(gateway, venue, request, message.credentials);
  return { caller, credential: { kind: 'agent', agent: caller.agent, trader: caller.trader } };
}
