import { GatewayError, type Issue } from '../errors.js';

/** Names in lower case, as in Node's headers. */
interface HeaderNames {
  readonly agent: string;
  readonly timestamp: string;
  readonly nonce: string;
  readonly signature: string;
  readonly apiKey: string;
}

export type ReadHeader = (name: string) => string | undefined;

/** The credentials of a signed request. Only shapes are checked. */
export interface AgentCredentials {
  /** As sent. */
  readonly agent: string;
  /** Epoch ms. */
  readonly timestamp: number;
  /** Decimal digits, 0 to 2^256-1. */
  readonly nonce: string;
  readonly signature: string;
}

export type Credentials =
  { readonly kind: 'agent'; readonly credentials: AgentCredentials } | { readonly kind: 'apiKey'; readonly apiKey: string };

export interface CredentialHeaders {
  /** Null when the request has neither an API key nor a signature header. */
  readonly read: (header: ReadHeader) => Credentials | null;
}

const FIELDS = ['agent', 'timestamp', 'nonce', 'signature'] as const;
type Texts = Readonly<Record<(typeof FIELDS)[number], string>>;

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const INTEGER = /^(?:0|[1-9]\d{0,77})$/;
const MAX_UINT256 = (2n ** 256n - 1n).toString();

/** Decimal texts of equal length compare like their numbers. */
const isUint256 = (text: string): boolean => INTEGER.test(text) && (text.length < MAX_UINT256.length || text <= MAX_UINT256);

/** The first prefix is this deployment's; the others serve clients written for another one. A request uses one prefix. */
export function createCredentialHeaders(prefixes: readonly string[]): CredentialHeaders {
  const known = prefixes.map((prefix) => ({ prefix, names: namesOf(prefix.toLowerCase()) }));
  return {
    read(header) {
      for (const { prefix, names } of known) {
        const given = FIELDS.filter((field) => header(names[field]) !== undefined);
        if (given.length > 0) return { kind: 'agent', credentials: readAgent(prefix, names, header) };
      }
      const apiKey = known.map(({ names }) => header(names.apiKey)).find((value) => value !== undefined);
      return apiKey === undefined ? null : { kind: 'apiKey', apiKey };
    },
  };
}

const namesOf = (prefix: string): HeaderNames => ({
  agent: `${prefix}agent`,
  timestamp: `${prefix}timestamp`,
  nonce: `${prefix}nonce`,
  signature: `${prefix}signature`,
  apiKey: `${prefix}api-key`,
});

const shownName = (prefix: string, field: (typeof FIELDS)[number]): string => `${prefix}${field.charAt(0).toUpperCase()}${field.slice(1)}`;

function readAgent(prefix: string, names: HeaderNames, header: ReadHeader): AgentCredentials {
  const [agent, timestamp, nonce, signature] = FIELDS.map((field) => header(names[field]));
  if (agent === undefined || timestamp === undefined || nonce === undefined || signature === undefined) {
    const missing = FIELDS.filter((field) => header(names[field]) === undefined);
    throw new GatewayError('UNAUTHENTICATED', { missing: missing.map((field) => shownName(prefix, field)) });
  }
  return parseCredentials({ agent, timestamp, nonce, signature }, (field) => shownName(prefix, field));
}

/** The signature's shape is not checked here: any malformed signature is reported as INVALID_SIGNATURE later. */
export function parseCredentials(texts: Texts, nameOf: (field: (typeof FIELDS)[number]) => string): AgentCredentials {
  const issues: Issue[] = [
    ...(ADDRESS.test(texts.agent) ? [] : [{ path: nameOf('agent'), message: 'must be 0x and 40 hex characters' }]),
    ...(isUint256(texts.timestamp) ? [] : [{ path: nameOf('timestamp'), message: 'must be epoch milliseconds in decimal digits' }]),
    ...(isUint256(texts.nonce)
      ? []
      : [{ path: nameOf('nonce'), message: 'must be decimal digits without leading zeros, at most 2^256-1' }]),
  ];
  if (issues.length > 0) throw new GatewayError('VALIDATION_ERROR', { issues });
  return { ...texts, timestamp: Number(texts.timestamp) };
}
