import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A node of the same chain id whose blocks no sandbox knows: what a wallet of a real network asks. */
export interface OtherNode {
  readonly url: string;
  /** Methods that were asked for, in order. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

const BLOCK = { number: '0x10', hash: `0x${'5a'.repeat(32)}`, baseFeePerGas: '0x1' };

export async function startOtherNode(chainId: number): Promise<OtherNode> {
  const asked: string[] = [];
  const results: Readonly<Record<string, unknown>> = {
    eth_chainId: `0x${chainId.toString(16)}`,
    eth_getBalance: '0xde0b6b3a7640000',
    eth_getBlockByNumber: BLOCK,
  };
  const server = createServer((request, response) => {
    void textOf(request).then((text) => {
      const { id, method } = JSON.parse(text) as { id: number; method: string };
      asked.push(method);
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? null }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}
