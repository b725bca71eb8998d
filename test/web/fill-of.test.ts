import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';

interface Module {
  readonly fillOf: (hl: string, user: string, oid: number | string) => Promise<{ readonly totalSz: string; readonly avgPx: string }>;
}

/** Named at run time: the types of a browser, which the module brings, do not go with those of Node. */
const { fillOf } = (await import(path.resolve(import.meta.dirname, '../../web/connect/fill-of.ts'))) as Module;

const USER = `0x${'1'.repeat(40)}`;
const FILL = { oid: 7, px: '60000.5', sz: '0.01' };
const status = (name: string) => ({ status: 'order', order: { status: name, order: { oid: FILL.oid } } });

interface Question {
  readonly type: string;
  readonly user: string;
  readonly oid?: number | string;
}
type Reply = object | number;

let server: Server;
let url: string;
let asked: Question[];
let replies: Record<string, Reply[]>;

/** Gives the replies of each type in turn, the last one again and again; a number is a status without a body. */
beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const question = JSON.parse(text) as Question;
      asked.push(question);
      const left = replies[question.type] ?? [];
      const reply = (left.length > 1 ? left.shift() : left[0]) ?? 404;
      response.writeHead(typeof reply === 'number' ? reply : 200, { 'content-type': 'application/json' });
      response.end(typeof reply === 'number' ? '' : JSON.stringify(reply));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

describe('an order that was answered as resting', () => {
  it('is asked about until it is filled, also over answers that fail, and never sent again', async () => {
    replies = { orderStatus: [status('open'), 503, status('filled')], userFills: [[], 502, [{ ...FILL, oid: 6 }, FILL]] };
    expect(await fillOf(url, USER, 7)).toEqual({ totalSz: '0.01', avgPx: '60000.5' });
    expect(asked.map(({ type }) => type)).toEqual([
      ...['orderStatus', 'orderStatus', 'orderStatus', 'userFills'],
      ...['orderStatus', 'userFills', 'orderStatus', 'userFills'],
    ]);
    expect(asked.every(({ user }) => user === USER)).toBe(true);
  });

  it('is found by the id of its client where the answer was lost, also when it arrives late', async () => {
    const cloid = `0x${'c'.repeat(32)}`;
    replies = { orderStatus: [{ status: 'unknownOid' }, status('open'), status('filled')], userFills: [[FILL]] };
    expect(await fillOf(url, USER, cloid)).toEqual({ totalSz: '0.01', avgPx: '60000.5' });
    expect(asked.filter(({ type }) => type === 'orderStatus').every(({ oid }) => oid === cloid)).toBe(true);
  });

  it.each(['canceled', 'rejected'])('that was %s ends with that word', async (word) => {
    replies = { orderStatus: [status('open'), status(word)] };
    await expect(fillOf(url, USER, 7)).rejects.toThrow(`The order is ${word}.`);
  });
});
