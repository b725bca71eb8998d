import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from '../../client/src/create-client.js';
import { httpRpc } from '../../client/src/rpc.js';

const servers: Server[] = [];
afterAll(() =>
  servers.forEach((server) => {
    server.close();
    server.closeAllConnections();
  }),
);

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('neither credentials nor questions follow a redirection', async () => {
  let reached = 0;
  const elsewhere = await serve((_request, response) => {
    reached += 1;
    response.end('{"data":[],"result":"0x1"}');
  });
  const url = await serve((request, response) => response.writeHead(307, { Location: `${elsewhere}${request.url ?? ''}` }).end());
  const trader = '0x00000000000000000000000000000000000000aa';
  const client = createClient({ url, chain: 'arbitrum-sepolia', apiKey: 'secret', trader });
  await expect(client.listPositions()).rejects.toThrow(`No gateway answers at ${url}.`);
  await expect(httpRpc(url, (address, init) => fetch(address, init))('eth_chainId', [])).rejects.toThrow('does not answer eth_chainId');
  expect(reached).toBe(0);
});
