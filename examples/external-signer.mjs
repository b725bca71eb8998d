#!/usr/bin/env node
/**
 * A signer for the relayer, as small as it can be: it holds a key that the gateway never sees. docs/external-signer.md describes what it
 * speaks. In earnest the two lines marked KEY talk to a key service instead, and RULES says what your company lets it sign.
 *
 *   SIGNER_KEY=0x… SIGNER_TOKEN=… SIGNER_CHAIN=42161 SIGNER_TO=0xDiamond… node examples/external-signer.mjs
 *
 * SIGNER_PORT defaults to 8547 (0 = any free one), SIGNER_MAX_FEE_GWEI to 100: what a unit of gas may cost, as RELAYER_MAX_FEE_GWEI_<CHAIN>
 * says on the other side. It listens on loopback only.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { privateKeyToAccount, sign } from 'viem/accounts';
import { keccak256, serializeTransaction } from 'viem/utils';

const { SIGNER_KEY, SIGNER_TOKEN, SIGNER_CHAIN, SIGNER_TO, SIGNER_PORT = '8547', SIGNER_MAX_FEE_GWEI = '100' } = process.env;
if (!SIGNER_KEY || !SIGNER_TOKEN || !SIGNER_CHAIN || !SIGNER_TO) {
  console.error('SIGNER_KEY, SIGNER_TOKEN, SIGNER_CHAIN and SIGNER_TO are needed.');
  process.exit(1);
}
const account = privateKeyToAccount(SIGNER_KEY); // KEY
const address = account.address.toLowerCase();
const diamond = SIGNER_TO.toLowerCase();
const MOST_GAS = 8_000_000n;
const MOST_FEE = BigInt(SIGNER_MAX_FEE_GWEI) * 10n ** 9n;
/** Of `delegatedTradingAction(address,bytes)`. */
const DELEGATED = '0x737b84cd';
const MAX_BODY = 256_000;

const digestOf = (text) => createHash('sha256').update(text).digest();
const isAllowed = ({ authorization = '' }) => timingSafeEqual(digestOf(authorization), digestOf(`Bearer ${SIGNER_TOKEN}`));

/** RULES: the relayer's own rules once more, on this side of the wall. Null when it may be signed. */
function refusal({ chainId, to, value, data, gas, maxFeePerGas }) {
  if (chainId !== Number(SIGNER_CHAIN)) return 'another chain';
  if (value !== '0') return 'it moves value';
  if (BigInt(gas) > MOST_GAS) return 'too much gas';
  if (BigInt(maxFeePerGas) > MOST_FEE) return 'too dear';
  if (to.toLowerCase() === address && data === '0x') return null;
  if (to.toLowerCase() !== diamond) return 'another contract';
  return data.toLowerCase().startsWith(DELEGATED) ? null : 'another call';
}

async function signFor(request) {
  if (request.address.toLowerCase() !== address) return [404, { error: 'no such wallet' }];
  const { transaction } = request;
  const said = refusal(transaction);
  if (said !== null) return [403, { error: said }];
  const { chainId, nonce, to, data, gas, maxFeePerGas, maxPriorityFeePerGas } = transaction;
  const amounts = { gas: BigInt(gas), maxFeePerGas: BigInt(maxFeePerGas), maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas) };
  // Computed here: a signer that accepts a digest signs anything.
  const digest = keccak256(serializeTransaction({ type: 'eip1559', chainId, nonce, to, value: 0n, data, ...amounts }));
  const { r, s, yParity } = await sign({ hash: digest, privateKey: SIGNER_KEY }); // KEY
  return [200, { signature: { r, s, yParity } }];
}

async function bodyOf(request) {
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > MAX_BODY) throw new RangeError('too large');
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

async function answer(request) {
  if (!isAllowed(request.headers)) return [401, { error: 'who are you?' }];
  if (request.method === 'GET' && request.url === '/addresses') return [200, { addresses: [address] }];
  if (request.method === 'POST' && request.url === '/sign') return signFor(await bodyOf(request));
  return [404, { error: 'GET /addresses, POST /sign' }];
}

const server = createServer((request, response) => {
  answer(request)
    .catch(() => [400, { error: 'not understood' }])
    .then(([status, body]) => {
      response.writeHead(status, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(body));
    });
});
server.listen(Number(SIGNER_PORT), '127.0.0.1', () => console.log(`signs for ${address} on http://127.0.0.1:${server.address().port}`));
process.on('SIGTERM', () => server.close(() => process.exit(0)));
