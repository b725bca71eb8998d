// From nothing to a signed request, against a running sandbox (npm start):
//   node examples/auth-walkthrough.mjs [http://127.0.0.1:8080]
import { CHAINS } from '@diamond-gateway/client/chains';
import { verifyMasterTransaction } from '@diamond-gateway/client/master';
import { JsonRpcProvider, Wallet, keccak256 } from 'ethers';

const url = process.argv[2] ?? 'http://127.0.0.1:8080';
const chain = 'arbitrum-sepolia';

async function call(path, { method = 'GET', headers = {}, body } = {}) {
  const response = await fetch(url + path, { method, body, headers: body ? { 'Content-Type': 'application/json', ...headers } : headers });
  const reply = await response.json();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status} ${reply.code}: ${reply.message}`);
  return reply;
}
const post = (path, body) => call(path, { method: 'POST', body: JSON.stringify(body) });

// 1. A trader with money (the sandbox hands one out) and a key for its agent. The service sees neither key.
const trader = new Wallet((await post('/sandbox/accounts', { chain })).privateKey);
const agent = new Wallet(Wallet.createRandom().privateKey);
console.log(`trader ${trader.address}\nagent  ${agent.address}`);

// 2. What everything is signed in.
const { signing } = await call(`/v1/${chain}`);
const typed = (...fields) => fields.map((field) => ({ type: field.split(' ')[0], name: field.split(' ')[1] }));

// 3. The trader authorises the agent. An absent bound is signed as "", all markets as "*", no expiry as 0.
const AgentAuthorization = typed(
  'address agent',
  'string name',
  'string markets',
  'string maxLeverage',
  'string dailySpendCapUsd',
  'uint256 expiresAt',
  'string permissions',
  'uint256 timestamp',
);
const timestamp = Date.now();
const authorization = {
  agent: agent.address,
  name: 'walkthrough',
  markets: '*',
  maxLeverage: '20',
  dailySpendCapUsd: '',
  expiresAt: 0,
  permissions: 'trade',
  timestamp,
};
const created = await post(`/v1/${chain}/agents`, {
  trader: trader.address,
  agent: agent.address,
  name: 'walkthrough',
  scope: { markets: 'all', maxLeverage: '20', dailySpendCapUsd: null, expiresAt: null, permissions: 'trade' },
  timestamp,
  signature: await trader.signTypedData(signing.domain, { AgentAuthorization }, authorization),
});
console.log(`created: ${created.agent.status}`);

// 4. The trader names the agent as its delegate on chain, once, by sending the transaction the answer carries. It is compared first: a
// gateway that lies could name a delegate of its own. masterTransaction of the same module makes it without the gateway.
const { chains } = await call('/sandbox');
const { rpcUrl } = chains.find((each) => each.chain === chain);
const node = new JsonRpcProvider(rpcUrl, undefined, { polling: true, pollingInterval: 100, cacheTimeout: -1 });
verifyMasterTransaction(CHAINS[chain], { type: 'delegate', agent: agent.address }, created.delegationTx);
const sent = await trader.connect(node).sendTransaction(created.delegationTx);
await sent.wait();
let status = '';
while (status !== 'active') ({ status } = (await call(`/v1/${chain}/agents/${agent.address}`)).agent);
console.log(`delegated: ${status}`);

// 5. The agent signs a request: method, path with its query, hash of the body's bytes, time and a nonce it never used. The operation's id is the primary type.
const nonce = BigInt(Date.now()) * 1000n;
const path = `/v1/${chain}/account/${trader.address}/positions`;
const request = { method: 'GET', path, bodyHash: keccak256('0x'), timestamp: Date.now(), nonce };
const positions = await call(path, {
  headers: {
    'X-Service-Agent': agent.address,
    'X-Service-Timestamp': String(request.timestamp),
    'X-Service-Nonce': String(nonce),
    'X-Service-Signature': await agent.signTypedData(signing.domain, { listPositions: signing.fields }, request),
  },
});
console.log(`positions, by signature: ${positions.data.length}`);

// 6. The trader issues a read-only API key, shown this once.
const issue = { label: 'walkthrough', timestamp: Date.now() };
const ApiKeyIssue = typed('string label', 'uint256 timestamp');
const { apiKey } = await post(`/v1/${chain}/api-keys`, {
  trader: trader.address,
  ...issue,
  signature: await trader.signTypedData(signing.domain, { ApiKeyIssue }, issue),
});
const read = await call(path, { headers: { 'X-Service-Api-Key': apiKey } });
console.log(`positions, by API key: ${read.data.length}`);
node.destroy();
