import type { ResponseCache } from '../../../core/caching/response-cache.js';
import type { Gateway, Venue } from '../../../core/gateway.js';
import { createInfoHandler } from '../../../facade/info/info-handler.js';

const USER = '0x0000000000000000000000000000000000000001';
const UNFITTING = [422, 'text/plain; charset=utf-8', 'Failed to deserialize the JSON body into the target type'];
const UNREADABLE = [400, 'text/plain; charset=utf-8', 'Failed to parse the request body as JSON'];

/** Neither the store nor the limits are there: a body that fits would fail at them. */
const handler = createInfoHandler({} as Gateway, { find: () => null } as unknown as ResponseCache);
const venue = { definition: { slug: 'arbitrum-sepolia' } } as unknown as Venue;
const client = { address: '192.0.2.7', requestId: '1', ray: '1' };

async function answerTo(body: string): Promise<unknown[]> {
  const { status, type, body: text } = await handler.answer({ venue, bytes: Buffer.from(body), client });
  return [status, type, text];
}

describe('the info handler', () => {
  it.each([
    ['no type', '{}'],
    ['a type that is a property of every object', '{"type":"constructor"}'],
    ['a type that is no text', '{"type":7}'],
    ['a list', '[]'],
    ['null', 'null'],
    ['an address that is none', '{"type":"clearinghouseState","user":"0x12"}'],
    ['no address', '{"type":"openOrders"}'],
    ['an unknown interval', '{"type":"candleSnapshot","req":{"coin":"BTC","interval":"7m","startTime":0}}'],
    ['a time that is no whole number', `{"type":"userFillsByTime","user":"${USER}","startTime":1.5}`],
    ['a time before time', `{"type":"userFillsByTime","user":"${USER}","startTime":-1}`],
    ['an oid beyond all numbers', `{"type":"orderStatus","user":"${USER}","oid":1e300}`],
    ['a coin of a thousand letters', JSON.stringify({ type: 'l2Book', coin: 'B'.repeat(1000) })],
    ['more figures than there are', '{"type":"l2Book","coin":"BTC","nSigFigs":9}'],
  ])('answers a body with %s as Hyperliquid does', async (_what, body) => {
    expect(await answerTo(body)).toEqual(UNFITTING);
  });

  it.each(['', '{"type":"allMids"', '<html>', '\u0000'])('answers %j, which is no JSON, with a text', async (body) => {
    expect(await answerTo(body)).toEqual(UNREADABLE);
  });

  it.each([
    `{"type":"openOrders","user":"${USER}"}`,
    '{"type":"candleSnapshot","req":{"coin":"BTC","interval":"5m","startTime":0}}',
    `{"type":"userFillsByTime","user":"${USER}","startTime":1}`,
    `{"type":"orderStatus","user":"${USER}","oid":1}`,
    '{"type":"l2Book","coin":"BTC","nSigFigs":5}',
  ])('has no word against %s', async (body) => {
    await expect(answerTo(body)).rejects.toThrow(TypeError);
  });
});
