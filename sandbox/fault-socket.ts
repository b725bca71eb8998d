import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import { answerText, REFUSED, replyText, type FaultPlan } from './fault-plan.js';

export interface Bridge {
  client: WebSocket;
  /** The client's connection itself, to break it without a closing handshake. */
  socket: Socket;
  target: string;
  plan: FaultPlan;
  delay: () => Promise<void>;
}

/** One client's WebSocket to the node; closing either end closes both. A delay keeps the node's messages in order. */
export function bridgeSocket({ client, socket, target, plan, delay }: Bridge): void {
  const upstream = new WebSocket(target, { perMessageDeflate: false });
  const opened = new Promise<void>((resolve) => upstream.once('open', () => resolve()));
  let upward: Promise<void> = opened;
  let downward: Promise<void> = Promise.resolve();

  function breakOff(): void {
    socket.resetAndDestroy();
    upstream.terminate();
  }

  async function send(text: string): Promise<void> {
    const fate = await plan.decide(text);
    if (fate === 'reset') return breakOff();
    if (fate === 'refuse' || (typeof fate === 'object' && 'status' in fate)) return client.send(answerText(text, REFUSED));
    if (typeof fate === 'object') return client.send(replyText(text, fate));
    if (fate === 'pass') return forward(upstream, text);
    // The node's first message after the request proves that it has received it.
    upstream.removeAllListeners('message');
    upstream.once('message', breakOff);
    forward(upstream, text);
  }

  client.on('message', (data: Buffer) => {
    const text = data.toString('utf8');
    upward = upward.then(() => send(text));
  });
  upstream.on('message', (data: Buffer) => {
    const text = data.toString('utf8');
    const late = delay(); // delays of several messages overlap: latency does not add up
    downward = downward.then(() => late).then(() => forward(client, text));
  });
  client.on('close', () => upstream.terminate());
  upstream.on('close', () => client.terminate());
  client.on('error', breakOff);
  upstream.on('error', breakOff);
}

function forward(to: WebSocket, text: string): void {
  if (to.readyState === WebSocket.OPEN) to.send(text);
}
