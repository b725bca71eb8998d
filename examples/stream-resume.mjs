// Follows the orders of an account over the WebSocket, and loses none when the connection is cut or this program is killed.
// Against a running sandbox (npm start); Ctrl-C ends it:
//   node examples/stream-resume.mjs [http://127.0.0.1:8080] [orders.jsonl]
// Every event is one line of the file, with its cursor: the last line says where to go on. Start it again, and it continues there.
import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs';
import { createClient } from '@diamond-gateway/client';
import WebSocket from 'ws'; // Node 20 has none of its own

const [url = 'http://127.0.0.1:8080', file = 'orders.jsonl'] = process.argv.slice(2);
const { accounts } = await (await fetch(`${url}/sandbox`)).json();
const agent = process.env.AGENT_KEY ?? accounts.find(({ role }) => role === 'agent').privateKey;
const client = createClient({ url, chain: 'arbitrum-sepolia', agent });

/** Event and cursor are one line. What follows the last end of a line is the half of one, of a kill while it was written: it comes again. */
function lastCursor() {
  const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
  const whole = bytes.subarray(0, bytes.lastIndexOf('\n') + 1);
  if (whole.length < bytes.length) truncateSync(file, whole.length);
  const text = whole.toString('utf8').trimEnd();
  return text === '' ? undefined : JSON.parse(text.slice(text.lastIndexOf('\n') + 1)).cursor;
}

const after = lastCursor();
console.log(after === undefined ? 'from now on' : `after cursor ${after}`);
const stream = client.resume(
  { orders: after },
  {
    WebSocket,
    onState: (state) => console.log(`connection: ${state}`), // after a cut the client comes back by itself, with its cursor
    // details.cursorLost: the gateway's database was put back. A snapshot follows: orders that it does not show are not known any more.
    onError: (error) => console.error(error.message),
  },
);
stream.subscribe({ channel: 'orders' }, ({ cursor, snapshot, data }) => {
  appendFileSync(file, `${JSON.stringify({ cursor, snapshot, data })}\n`);
  // Without a cursor to go on from, the first message is a snapshot of what is open.
  console.log(snapshot ? `${data.length} open orders, cursor ${cursor}` : `order ${data.id} ${data.status}, cursor ${cursor}`);
});
