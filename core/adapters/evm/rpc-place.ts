import { Agent as PlainAgent, type RequestOptions } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import { hideAddress, type Mask } from '../../observability/mask-secrets.js';

/** Connection settings of a node, computed once. */
export interface RpcPlace {
  /** Without user name and password. */
  readonly url: string;
  readonly options: RequestOptions;
  readonly isTls: boolean;
  /** Removes secrets of the URL from the node's messages. */
  readonly mask: Mask;
}

/** Shorter than the idle timeout of common servers, so that requests rarely use a connection that is being closed. */
const IDLE_MS = 4_000;

/** Idle sockets do not keep the process alive. */
const PLAIN = new PlainAgent({ keepAlive: true, timeout: IDLE_MS });
const TLS = new TlsAgent({ keepAlive: true, timeout: IDLE_MS });

/** A user name in the URL means basic authentication. */
export function rpcPlace(address: string): RpcPlace {
  const url = new URL(address);
  const isTls = url.protocol === 'https:';
  const hasUser = url.username !== '' || url.password !== '';
  const user = `${decoded(url.username)}:${decoded(url.password)}`;
  url.username = '';
  url.password = '';
  return {
    url: url.href,
    isTls,
    mask: hideAddress([address]),
    options: {
      ...urlToHttpOptions(url),
      method: 'POST',
      agent: isTls ? TLS : PLAIN,
      headers: {
        Accept: '*/*',
        'Content-Type': 'application/json',
        ...(hasUser ? { Authorization: `Basic ${Buffer.from(user).toString('base64')}` } : {}),
      },
    },
  };
}

/** A password may contain percent signs that are no escapes. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Follows a redirect; credentials are sent to the configured origin only. Null for an invalid URL, or a downgrade from TLS. */
export function movedTo({ url, options, isTls }: RpcPlace, location: string): RpcPlace | null {
  if (!URL.canParse(location, url)) return null;
  const { href, origin, protocol } = new URL(location, url);
  if (protocol !== 'https:' && (protocol !== 'http:' || isTls)) return null;
  const moved = rpcPlace(href);
  return origin === new URL(url).origin ? { ...moved, options: { ...moved.options, headers: options.headers } } : moved;
}
