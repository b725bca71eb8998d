import { Agent as PlainAgent, type RequestOptions } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { urlToHttpOptions } from 'node:url';
import { hideAddress, type Mask } from '../../observability/mask-secrets.js';

/** A node as HTTP reaches it, worked out once. */
export interface RpcPlace {
  /** Without its user. */
  readonly url: string;
  readonly options: RequestOptions;
  readonly isTls: boolean;
  /** Takes what is secret of the address out of what the node says. */
  readonly mask: Mask;
}

/** Shorter than servers keep a connection that nobody uses, so that hardly any request meets one that is being closed. */
const IDLE_MS = 4_000;

/** What lies idle in them keeps no process alive. */
const PLAIN = new PlainAgent({ keepAlive: true, timeout: IDLE_MS });
const TLS = new TlsAgent({ keepAlive: true, timeout: IDLE_MS });

/** Providers whose addresses hold a user mean basic authentication. */
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

/** Passwords hold percent signs that escape nothing. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Nobody but the node we were told of hears who we are. Null for what is no address of a node, or one less safe than this. */
export function movedTo({ url, options, isTls }: RpcPlace, location: string): RpcPlace | null {
  if (!URL.canParse(location, url)) return null;
  const { href, origin, protocol } = new URL(location, url);
  if (protocol !== 'https:' && (protocol !== 'http:' || isTls)) return null;
  const moved = rpcPlace(href);
  return origin === new URL(url).origin ? { ...moved, options: { ...moved.options, headers: options.headers } } : moved;
}
