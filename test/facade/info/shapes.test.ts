import { HL_INFO_SCHEMAS } from '../../harness/hyperliquid/info-schemas.js';
import { hlInfo } from '../../harness/hyperliquid/info.js';
import { HL_SOCKET_SCHEMAS } from '../../harness/hyperliquid/socket-schemas.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';
import { SUBSCRIPTION_NAMES } from '../../../facade/ws/subscriptions.js';

/** The shapes that everything clients see is held to are worth as much as what they refuse. */

let sandbox: TestVenue;
beforeAll(async () => (sandbox = await sharedVenue()));
afterAll(() => sandbox.stop());

/** Copies of a value, each with one unknown field in one of its objects. */
function withExtraFields(value: unknown): unknown[] {
  if (Array.isArray(value)) {
    const [first] = value as unknown[];
    return value.length === 0 ? [] : withExtraFields(first).map((changed) => [changed, ...(value as unknown[]).slice(1)]);
  }
  if (typeof value !== 'object' || value === null) return [];
  const fields = Object.entries(value).flatMap(([key, field]) => withExtraFields(field).map((changed) => ({ ...value, [key]: changed })));
  return [{ ...value, stranger_field: { odd: true } }, ...fields];
}

describe('the shape of an answer', () => {
  const user = `0x${'34'.repeat(20)}`;
  const fields: Record<string, object> = {
    candleSnapshot: { req: { coin: 'BTC', interval: '1m', startTime: 0 } },
    marginTable: { id: 50 },
    maxBuilderFee: { user, builder: user },
    orderStatus: { user, oid: 1 },
    tokenDetails: { tokenId: `0x${'0'.repeat(32)}` },
    borrowLendReserveState: { token: 0 },
    alignedQuoteTokenInfo: { token: 0 },
  };
  const usual = { user, coin: 'BTC', startTime: 0, vaultAddress: user, source: 'a', nonce: 1, dex: '' };

  it.each([...HL_INFO_SCHEMAS.keys()])('of %s takes no undescribed field', async (type) => {
    const { text, status } = await hlInfo(sandbox).send(JSON.stringify({ type, ...(fields[type] ?? usual) }));
    expect([type, status]).toEqual([type, 200]);
    const answer: unknown = JSON.parse(text);
    const schema = HL_INFO_SCHEMAS.get(type);
    expect(schema?.safeParse(answer).success).toBe(true);
    for (const changed of withExtraFields(answer)) expect([type, schema?.safeParse(changed).success]).toEqual([type, false]);
  });

  it('is there for every channel that can be subscribed to', () => {
    // Nothing is ever said on this one.
    const silent = new Set(['notification', 'userEvents', 'outcomeMetaUpdates']);
    expect(SUBSCRIPTION_NAMES.filter((name) => !silent.has(name) && !HL_SOCKET_SCHEMAS.has(name))).toEqual([]);
    expect(HL_SOCKET_SCHEMAS.has('user')).toBe(true);
  });
});
