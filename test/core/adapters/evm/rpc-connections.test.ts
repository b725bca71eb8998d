import { execFile } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { systemClock } from '../../../../core/adapters/system/clock.js';
import { exchange, movedTo, rpcPlace } from '../../../../core/adapters/evm/rpc-client.js';
import {
  answer,
  closeFaultyNodes,
  RESULT,
  SIMPLE,
  startBytes,
  startFaultyNode,
  type Handler,
} from '../../../harness/servers/faulty-node.js';

afterEach(closeFaultyNodes);

const ask = (url: string, timeoutMs = 5_000): ReturnType<typeof exchange> =>
  exchange(rpcPlace(url), [{ method: 'eth_blockNumber' }], { timeoutMs, clock: systemClock });
const withUser = (url: string): string => url.replace('http://', 'http://user:hunter2@');
const saidBy = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => 'answered',
    (error: unknown) => (error instanceof Error ? error.message : 'nothing'),
  );
const move =
  (to: string, status = 307): Handler =>
  (_request, response) =>
    void response.writeHead(status, { location: to }).end();

describe('a node that has moved', () => {
  it.each([307, 308])('is followed with the same question and the same user (%i)', async (status) => {
    const node = await startFaultyNode((...given) => (given[0].url === '/v2/key' ? move('/v3/key?a=b', status) : answer)(...given));
    expect(await ask(withUser(`${node.url}v2/key`))).toEqual([{ id: 0, result: '0x1' }]);
    const user = `Basic ${Buffer.from('user:hunter2').toString('base64')}`;
    expect(node.heard.map(({ path, user: sentUser }) => [path, sentUser])).toEqual([
      ['/v2/key', user],
      ['/v3/key?a=b', user],
    ]);
    expect(node.heard[1]?.body).toBe(node.heard[0]?.body);
  });

  it('to another host is followed without credentials, also on the way back', async () => {
    const otherHost = await startFaultyNode((_request, response) => void response.writeHead(307, { location: `${home.url}again` }).end());
    const home = await startFaultyNode((...given) => (given[0].url === '/again' ? answer : move(`${otherHost.url}there`))(...given));
    expect(await ask(withUser(home.url))).toEqual([{ id: 0, result: '0x1' }]);
    expect([home.heard[0]?.user === undefined, otherHost.heard[0]?.user, home.heard[1]?.user]).toEqual([false, undefined, undefined]);
  });

  it('in circles is left after a few rounds', async () => {
    const node = await startFaultyNode(move('/'));
    expect(await saidBy(ask(node.url))).toBe('cannot be reached (it moves in circles)');
    expect(node.heard).toHaveLength(4);
  });

  it.each(['http://', 'file:///etc/passwd', 'ftp://127.0.0.1/', 'javascript:0', 'data:,0x1'])('to %s is nowhere', async (location) => {
    const node = await startFaultyNode(move(location));
    expect(await saidBy(ask(node.url))).toBe('cannot be reached (it has moved to no address)');
  });

  it('from https to plain http is not followed', () => {
    const place = rpcPlace('https://user:hunter2@node.example/v2');
    expect(movedTo(place, 'http://node.example/v2')).toBeNull();
    expect(movedTo(place, '//other.example/v3')).toMatchObject({ url: 'https://other.example/v3', isTls: true });
    expect(JSON.stringify(movedTo(place, 'https://node.example:8443/'))).not.toContain('Authorization');
    expect(movedTo(place, '/v3')?.options.headers).toEqual(place.options.headers);
  });

  it('to an address with a user that cannot be decoded is asked there', async () => {
    const there = await startFaultyNode(answer);
    const node = await startFaultyNode(move(there.url.replace('http://', 'http://50%:%zz@')));
    expect(await ask(node.url)).toHaveLength(1);
    expect(there.heard[0]?.user).toBe(`Basic ${Buffer.from('50%:%zz').toString('base64')}`);
  });

  it('for good without an address, or in a way that drops the question, has given no answer', async () => {
    for (const status of [301, 302, 303, 307]) {
      const node = await startFaultyNode((_request, response) => void response.writeHead(status).end(RESULT));
      expect(await saidBy(ask(node.url))).toBe(`HTTP ${status}`);
    }
  });

  it('again and again, slowly, has no more time than any other', async () => {
    const node = await startFaultyNode((...given) => void setTimeout(() => move('/')(...given), 200));
    expect(await saidBy(ask(node.url, 500))).toBe('no answer within 0.5 s');
  });
});

describe('a connection that is kept', () => {
  it('carries one question after the other', async () => {
    const ports = new Set<number | undefined>();
    const node = await startFaultyNode((request, response) => (ports.add(request.socket.remotePort), void response.end(RESULT)));
    for (let round = 0; round < 20; round += 1) await ask(node.url);
    expect(ports.size).toBe(1);
  });

  it.each(['reset', 'closed'] as const)('and %s just when we write still gives an answer', async (how) => {
    const url = await startBytes((socket, nth) => {
      if (nth !== 2) return void socket.write(SIMPLE);
      if (how === 'reset') socket.resetAndDestroy();
      else socket.end();
    });
    expect(await ask(url)).toHaveLength(1);
    expect(await ask(url)).toHaveLength(1);
  });

  it('and always broken is a fault of the node after two tries', async () => {
    let requests = 0;
    const url = await startBytes((socket, nth) => (nth === 1 ? socket.write(SIMPLE) : ((requests += 1), socket.resetAndDestroy())));
    await ask(url);
    expect(await saidBy(ask(url))).toBe('cannot be reached (ECONNRESET)');
    expect(requests).toBe(2);
  });

  it('and broken after the first bytes of an answer is not asked again', async () => {
    let requests = 0;
    const url = await startBytes((socket, nth) => {
      if (nth === 1) return void socket.write(SIMPLE);
      requests += 1;
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{', () => socket.resetAndDestroy());
    });
    await ask(url);
    expect(await saidBy(ask(url))).toBe('cannot be reached (ECONNRESET)');
    expect(requests).toBe(1);
  });

  it('carries a transaction again in the same bytes and no others', async () => {
    const raw = `0x02${'ab'.repeat(100)}`;
    let isFirst = true;
    const node = await startFaultyNode((request, response, body) => {
      if (body.includes('eth_sendRawTransaction') && isFirst) return void ((isFirst = false), request.socket.resetAndDestroy());
      response.end(RESULT);
    });
    await ask(node.url);
    await exchange(rpcPlace(node.url), [{ method: 'eth_sendRawTransaction', params: [raw] }], { timeoutMs: 5_000, clock: systemClock });
    const [, first, second, ...others] = node.heard.map(({ body }) => body);
    expect(first).toContain(raw);
    expect([second, others]).toEqual([first, []]);
  });
});

describe('many at once', () => {
  it('wait for the node alone, not for each other', async () => {
    const held: ServerResponse[] = [];
    const node = await startFaultyNode((_request, response) => {
      held.push(response);
      if (held.length === 200) for (const one of held) one.end(RESULT);
    });
    expect(await Promise.all(Array.from({ length: 200 }, () => ask(node.url, 20_000)))).toHaveLength(200);
  });

  it('leave nothing open that keeps a process alive', async () => {
    const node = await startFaultyNode(answer);
    const [client, system] = ['evm/rpc-client.ts', 'system/clock.ts'].map((name) =>
      fileURLToPath(new URL(`../../../../core/adapters/${name}`, import.meta.url)),
    );
    const program = `
      const { post, rpcPlace } = await import(${JSON.stringify(client)});
      const { systemClock: clock } = await import(${JSON.stringify(system)});
      await Promise.all(Array.from({ length: 20 }, () => post(rpcPlace(${JSON.stringify(node.url)}), '{}', { timeoutMs: 60000, clock, isLarge: false })));
      await new Promise(setImmediate);
      console.log(JSON.stringify(process.getActiveResourcesInfo()));`;
    const ran = await promisify(execFile)(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program]);
    expect(node.heard).toHaveLength(20);
    const open = JSON.parse(ran.stdout) as string[];
    expect(open.filter((resource) => resource === 'TCPSocketWrap' || resource === 'Timeout')).toEqual([]);
  });
});
