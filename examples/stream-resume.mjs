// Follows the orders of an account over the WebSocket, and loses none when the connection is cut or this program is killed.
// Against a running sandbox (npm start):
//   node examples/stream-resume.mjs [http://127.0.0.1:8080] [orders.jsonl]
// Every event is one line of the file, with its cursor: the last line says where to go on. Start it again, and it continues there.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { privateKeyToAccount } from 'viem/accounts';
import WebSocket from 'ws';

const [url = 'http://127.0.0.1:8080', file = 'orders.jsonl'] = process.argv.slice(2);
const chain = 'arbitrum-sepolia';
const path = `/v1/${chain}/ws`;
const { accounts } = await (await fetch(`${url}/sandbox`)).json();
const agent = privateKeyToAccount(process.env.AGENT_KEY ?? accounts.find(({ role }) => role === 'agent').privateKey);
const { signing } = await (await fetch(`${url}/v1/${chain}`)).json();

/** A line is written in one piece, event and cursor together: after a kill it is there or not, never the half of it. */
function lastCursor() {
  const text = existsSync(file) ? readFileSync(file, 'utf8').trimEnd() : '';
  return text === '' ? null : JSON.parse(text.slice(text.lastIndexOf('\n') + 1)).cursor;
}

/** A signature like that of a request: method WS, the path, no body. */
async function credentials() {
  const [timestamp, nonce] = [Date.now(), BigInt(Date.now()) * 1000n];
  const message = { method: 'WS', path, bodyHash: signing.emptyBodyHash, timestamp: BigInt(timestamp), nonce };
  const signature = await agent.signTypedData({
    domain: signing.domain,
    types: { wsAuth: signing.fields },
    primaryType: 'wsAuth',
    message,
  });
  return { op: 'auth', agent: agent.address, timestamp: String(timestamp), nonce: String(nonce), signature };
}

/** Resolves when the connection has ended, for whatever reason. */
const follow = () =>
  new Promise((ended) => {
    const socket = new WebSocket(url.replace('http', 'ws') + path);
    const say = (message) => socket.send(JSON.stringify(message));
    const answers = {
      hello: async () => say(await credentials()),
      authenticated: () => {
        const after = lastCursor();
        console.log(after === null ? 'from the beginning' : `after cursor ${after}`);
        // Without `after` the first message is a snapshot of what is open now.
        say({ op: 'subscribe', channel: 'orders', ...(after === null ? {} : { after }) });
      },
      ping: () => say({ op: 'pong' }), // two unanswered pings end the connection
      error: ({ code, message }) => console.error(`${code}: ${message}`),
    };
    socket.on('message', (text) => {
      const message = JSON.parse(text);
      if (message.op !== undefined) return void answers[message.op]?.(message);
      const { cursor, snapshot, data } = message;
      appendFileSync(file, `${JSON.stringify({ cursor, snapshot, data })}\n`);
      console.log(snapshot ? `${data.length} open orders, cursor ${cursor}` : `order ${data.id} ${data.status}, cursor ${cursor}`);
    });
    socket.on('error', ({ message }) => console.error(message));
    socket.on('close', ended);
  });

for (let pause = 100; ; pause = Math.min(2 * pause, 5_000)) {
  const since = Date.now();
  await follow();
  if (Date.now() - since > 10_000) pause = 100; // it had worked: this is a new trouble
  console.log(`the connection ended; again in ${pause} ms`);
  await new Promise((resolve) => setTimeout(resolve, pause));
}
