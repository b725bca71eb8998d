// A client of the native door in one page: signs requests as an agent, signs and broadcasts what the service prepares.
import { JsonRpcProvider, Wallet, keccak256, toUtf8Bytes } from 'ethers';

/** `agentKey` never leaves this process; the agent needs a little native token for gas. */
export async function nativeClient({ url, chain, agentKey, trader, rpcUrl }) {
  // Without its cache: for 250 ms ethers would answer with the count of transactions from before the last one.
  const node = new JsonRpcProvider(rpcUrl, undefined, { staticNetwork: true, pollingInterval: 100, cacheTimeout: -1 });
  const agent = new Wallet(agentKey, node);
  const { signing } = await (await fetch(`${url}/v1/${chain}`)).json();
  let nonce = BigInt(Date.now()) * 1000n;

  async function call(operation, method, path, { body, wait } = {}) {
    const text = body === undefined ? '' : JSON.stringify(body);
    const request = {
      method,
      path: `/v1/${chain}${path}`,
      bodyHash: keccak256(toUtf8Bytes(text)),
      timestamp: Date.now(),
      nonce: (nonce += 1n),
    };
    const headers = {
      'X-Service-Agent': agent.address,
      'X-Service-Timestamp': String(request.timestamp),
      'X-Service-Nonce': String(request.nonce),
      'X-Service-Signature': await agent.signTypedData(signing.domain, { [operation]: signing.fields }, request),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(wait === undefined ? {} : { Prefer: `wait=${wait}` }),
    };
    const response = await fetch(url + request.path, { method, headers, body: body === undefined ? undefined : text });
    const reply = await response.json();
    if (!response.ok) throw new Error(`${operation} answered ${response.status} ${reply.code}: ${reply.message}`);
    return reply;
  }

  /** Signs and sends what was prepared; the service prepared it and never sees the key. */
  async function broadcast({ to, data, gas }) {
    const sent = await agent.sendTransaction({ to, data, gasLimit: gas === null ? undefined : BigInt(gas) });
    await sent.wait();
    return sent.hash;
  }

  /** Sends an order's transaction and waits until the oracle has answered, or the order rests. */
  async function submit({ order, transaction }) {
    const txHash = await broadcast(transaction);
    return call('submitOrder', 'POST', `/orders/${order.id}/submit`, { body: { txHash }, wait: 8 });
  }

  return {
    create: async (body) => submit(await call('createOrder', 'POST', '/orders', { body })),
    close: async (id, body = {}) => submit(await call('closePosition', 'POST', `/positions/${id}/close`, { body })),
    async protect(id, levels) {
      const { transaction } = await call('updatePosition', 'PATCH', `/positions/${id}`, { body: levels });
      return broadcast(transaction);
    },
    positions: async () => (await call('listPositions', 'GET', `/account/${trader}/positions`)).data,
    end: () => node.destroy(),
  };
}
