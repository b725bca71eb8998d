import { decodeAction } from '../../facade/signing/read-body.js';
import { readOrderedJson, type JsonObject } from '../../facade/signing/ordered-json.js';
import { TRADE_SCHEMAS, type TradeType } from '../../facade/actions/trade.js';

type ActionText = { readonly type: string } & Readonly<Record<string, unknown>>;

const LIMIT = { limit: { tif: 'Gtc' } };
const order = (more: object = {}) => ({ a: 0, b: true, p: '60000', s: '0.01', r: false, t: LIMIT, ...more });
const orders = (...given: object[]) => ({ type: 'order', orders: given, grouping: 'na' });
const many = (item: object) => orders(...Array.from({ length: 200 }, () => item));
const LONG = { asset: 0, isBuy: true, limitPx: '60000', sz: '0.01', reduceOnly: false, orderType: LIMIT, cloid: `0x${'ab'.repeat(16)}` };

const read = (action: ActionText) =>
  decodeAction(TRADE_SCHEMAS[action.type as TradeType], readOrderedJson(Buffer.from(JSON.stringify(action))) as JsonObject);

describe('an action', () => {
  it.each<[string, ActionText]>([
    ['with a note of its client that makes a KiB with its key', { ...orders(order()), note: 'x'.repeat(1_015) }],
    ['of two hundred orders in long names', many(LONG)],
    ['of two hundred orders with options that are null', many(order({ c: null, t: { ...LIMIT, trigger: null } }))],
    ['of two hundred cancels in long names', { type: 'cancel', cancels: Array.from({ length: 200 }, (_, oid) => ({ asset: 1, oid })) }],
  ])('%s is read', (_what, action) => {
    expect(read(action).forms.length).toBeGreaterThan(0);
  });

  it.each<[string, ActionText]>([
    ['beside its fields', { ...orders(order()), note: 'x'.repeat(1_016) }],
    ['under a long key', { ...orders(order()), ['x'.repeat(1_100)]: null }],
    ['in many small parts', many(order({ note: 'xxxxxx' }))],
    ['inside an order', orders(order({ t: { limit: { tif: 'Gtc', note: 'x'.repeat(1_100) } } }))],
    ['under the other name of a field that is not there', { type: 'scheduleCancel', time: 1, sz: 'x'.repeat(1_100) }],
    ['in a long number', { ...orders(order()), n: Number.MAX_SAFE_INTEGER, list: Array.from({ length: 300 }, () => 1.5) }],
  ])('with more than a KiB that no schema has, %s, is refused', (_what, action) => {
    expect(() => read(action)).toThrow(/action: holds more than 1024 bytes under keys that no action has/);
  });
});
