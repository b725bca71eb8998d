import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';

/** The pricing host in a process of its own, at a pace that is set: the venue's prices are moved a little with each frame. */

export type PriceOrder =
  { readonly kind: 'start'; readonly pricingUrl: string } | { readonly kind: 'pace'; readonly perSecond: number; readonly markets: number };

const sockets = new WebSocketServer({ noServer: true });
let upstream = '';
let prices: [number, number][] = [];
let timer: NodeJS.Timeout | undefined;
let sent = 0;

process.on('message', (order) => void obey(order as PriceOrder).then((answer) => process.send?.(answer)));
process.once('disconnect', () => process.exit());

async function obey(order: PriceOrder): Promise<string | null> {
  if (order.kind === 'start') return start(order.pricingUrl);
  clearInterval(timer);
  timer = setInterval(() => tell(order.markets), 1_000 / order.perSecond);
  return null;
}

async function start(pricingUrl: string): Promise<string> {
  upstream = pricingUrl;
  const charts = (await (await fetch(`${upstream}/charts`)).json()) as { readonly closes: readonly (number | null)[] };
  prices = charts.closes.flatMap((close, pairIndex) => (close === null || close <= 0 ? [] : [[pairIndex, close] as [number, number]]));
  const server = createServer((request, response) => {
    fetch(`${upstream}${request.url ?? '/'}`)
      .then(async (answer) =>
        response
          .writeHead(answer.status, { 'content-type': 'application/json; charset=utf-8' })
          .end(Buffer.from(await answer.arrayBuffer())),
      )
      .catch(() => response.destroy());
  });
  server.on('upgrade', (request, socket, head) => sockets.handleUpgrade(request, socket, head, (client) => welcome(client)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const welcome = (client: WebSocket): void => void client.on('error', () => client.terminate());

/** The next few markets in turn, stamped with the moment of sending. */
function tell(markets: number): void {
  sent += 1;
  const moved = Array.from({ length: Math.min(markets, prices.length) }, (_, index) => {
    const [pairIndex = 0, price = 1] = prices[(sent * markets + index) % prices.length] ?? [];
    return [pairIndex, Number((price * (1 + ((sent % 7) - 3) / 1_000)).toPrecision(9))];
  }).flat();
  const text = JSON.stringify({ m: moved, i: moved, t: Date.now() });
  for (const client of sockets.clients) client.send(text);
}
