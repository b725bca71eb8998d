import { createDictionary } from './dictionary.js';
import { createExamples, type MakeExample } from './from-schema.js';
import type { Random } from './random.js';

/** What inputs are made of; it depends on the venue's seed alone. */
export interface Materials {
  readonly example: MakeExample;
  readonly slug: string;
  readonly operatorToken: string;
  /** Whose agent signs native requests. */
  readonly trader: string;
  /** Whom masters authorise: few, so that they are replaced rather than added. */
  readonly agents: readonly string[];
}

export interface MaterialsOptions {
  /** The trader first. */
  readonly addresses: readonly string[];
  readonly slug: string;
  readonly operatorToken: string;
}

const AGENTS = [1, 2, 3, 4].map((digit) => `0x${String(digit).repeat(40)}`);

export const createMaterials = ({ addresses, slug, operatorToken }: MaterialsOptions): Materials => ({
  example: createExamples(createDictionary(addresses)),
  slug,
  operatorToken,
  trader: addresses[0] ?? '',
  agents: AGENTS,
});

const ODD_HEADERS: readonly (readonly [string, string])[] = [
  ['Content-Type', 'text/plain'],
  ['Content-Type', 'application/json; charset=utf-16'],
  ['Content-Type', 'multipart/form-data; boundary='],
  ['Content-Type', ''],
  ['Content-Encoding', 'gzip'],
  ['Content-Encoding', 'identity, br'],
  ['Accept', '*/*;q=x, ,,,'],
  ['Accept-Encoding', 'gzip;q=0, *;q=nan'],
  ['Expect', '100-continue'],
  ['Expect', 'x'],
  ['X-Forwarded-For', '::ffff:1.2.3.4%eth0, [::1]:99999, unknown'],
  ['X-Forwarded-For', `${'1.1.1.1,'.repeat(500)}2.2.2.2`],
  ['X-Request-Id', '../../x'],
  ['Prefer', 'wait=1'],
  ['Prefer', `wait="${'\\"'.repeat(200)}`],
  ['Prefer', `wait=${'9'.repeat(400)}`],
  ['Cookie', 'a=b; __proto__=1'],
  ['Origin', 'null'],
  ['Host', 'attacker.example'],
  ['If-None-Match', '*'],
  ['Range', 'bytes=0-,-1'],
  ['Upgrade', 'h2c'],
  ['traceparent', '00-ffffffffffffffffffffffffffffffff-0000000000000000-ff'],
  ['X-Service-Timestamp', 'NaN'],
  ['Authorization', 'Bearer '],
  ['Authorization', `Bearer ${'x'.repeat(2_000)}`],
  ['constructor', 'x'],
];

/** A request's usual headers, now and then with one that servers stumble over. */
export function oddHeaders(random: Random, hasBody: boolean): [string, string][] {
  const headers: [string, string][] = hasBody ? [['Content-Type', 'application/json']] : [];
  if (!random.chance(0.12)) return headers;
  const [name, value] = random.pick(ODD_HEADERS);
  return [...headers.filter(([known]) => known !== name), [name, value]];
}
