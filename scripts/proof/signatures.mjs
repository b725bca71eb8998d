import { encode } from '@msgpack/msgpack';
import { concatHex, encodePacked, hashTypedData, keccak256, numberToHex, recoverAddress, toHex } from 'viem';

/** The signatures of a proof: those of agents under actions, and that of the trader under the approval of an agent. */

/** Both ways in which a client may pack the action: as it was sent, and in the exchange's order of keys. */
const KEYS = {
  action: [
    'type',
    'orders',
    'cancels',
    'oid',
    'order',
    'modifies',
    'asset',
    'isCross',
    'isBuy',
    'ntli',
    'leverage',
    'time',
    'grouping',
    'builder',
    'f',
    'a',
  ],
  order: ['a', 'b', 'p', 's', 'r', 't', 'c'],
  trigger: ['isMarket', 'triggerPx', 'tpsl'],
};

const plain = (text) =>
  /^\d+(?:\.\d*)?$/.test(text)
    ? text
        .replace(/^0+(?=\d)/, '')
        .replace(/(\.\d*?)0+$/, '$1')
        .replace(/\.$/, '')
    : text.toLowerCase();

function inOrder(value, keys, deeper) {
  return Object.fromEntries(
    keys.filter((key) => value[key] !== undefined && value[key] !== null).map((key) => [key, deeper(value[key], key)]),
  );
}

const canonicalOrder = (order) =>
  inOrder(order, KEYS.order, (value, key) => {
    if (key === 't')
      return value.trigger
        ? { trigger: inOrder(value.trigger, KEYS.trigger, (each, name) => (name === 'triggerPx' ? plain(each) : each)) }
        : value;
    return typeof value === 'string' ? plain(value) : value;
  });

const canonicalAction = (action) =>
  inOrder(action, KEYS.action, (value, key) => {
    if (key === 'orders') return value.map(canonicalOrder);
    if (key === 'order') return canonicalOrder(value);
    if (key === 'modifies')
      return value.map(({ oid, order }) => ({ oid: typeof oid === 'string' ? plain(oid) : oid, order: canonicalOrder(order) }));
    if (key === 'cancels')
      return value.map((each) => inOrder(each, ['a', 'o', 'asset', 'cloid'], (part) => (typeof part === 'string' ? plain(part) : part)));
    return value;
  });

function actionHash(action, { nonce, vaultAddress, expiresAfter }) {
  const vault = vaultAddress ? concatHex(['0x01', vaultAddress.startsWith('0x') ? vaultAddress : `0x${vaultAddress}`]) : '0x00';
  const expiry = expiresAfter === undefined || expiresAfter === null ? '0x' : concatHex(['0x00', numberToHex(expiresAfter, { size: 8 })]);
  return keccak256(concatHex([toHex(encode(action)), numberToHex(nonce, { size: 8 }), vault, expiry]));
}

const padded = (text) => `0x${text.replace(/^0x/i, '').padStart(64, '0')}`;
const NO_CONTRACT = '0x0000000000000000000000000000000000000000';

const recover = (hash, { r, s, v }) => recoverAddress({ hash, signature: { r: padded(r), s: padded(s), v: BigInt(v < 27 ? v + 27 : v) } });

const agentDigest = (connectionId, source) =>
  hashTypedData({
    domain: { name: 'Exchange', version: '1', chainId: 1337, verifyingContract: NO_CONTRACT },
    types: {
      Agent: [
        { name: 'source', type: 'string' },
        { name: 'connectionId', type: 'bytes32' },
      ],
    },
    primaryType: 'Agent',
    message: { source, connectionId },
  });

export const isSame = (a, b) => String(a).toLowerCase() === String(b).toLowerCase();

/** What clients sign in an action, whatever chain it is for: every gateway takes both. */
export const NETWORKS = { a: 'Mainnet', b: 'Testnet' };

/** The action of a body, after its signature and the approval of its signer. */
export async function checkBody(body, trader, check) {
  const envelope = JSON.parse(body.envelope);
  check(body.network in NETWORKS, `no client signs for the network ${body.network}`);
  const action = body.form === 'canonical' ? canonicalAction(envelope.action) : envelope.action;
  const hash = actionHash(action, envelope);
  check(hash === body.actionHash, 'the action hash is not that of the envelope');
  const signer = await recover(agentDigest(hash, body.network), envelope.signature);
  check(isSame(signer, body.signer), `the envelope is signed by ${signer}, not by the signer named`);
  check(body.nonce === String(envelope.nonce), 'the nonce is not that of the envelope');
  check(!envelope.vaultAddress, 'it acts for a vault, not for the trader');
  // Only what was hashed was signed: an envelope may hold more.
  return { envelope: { ...envelope, action }, approval: await checkApproval(body, trader, check) };
}

/** The `approveAgent` that lets the signer act for the trader; null without one. The trader's own key needs none. */
async function checkApproval({ approval: text, signer }, trader, check) {
  if (text === null || text === undefined) {
    check(isSame(signer, trader), `nothing shows that the trader approved ${signer}: the approval of its key is missing`);
    return null;
  }
  const { action, nonce, signature } = JSON.parse(text);
  const [name, network] = [action.agentName ?? '', action.hyperliquidChain];
  check(Object.values(NETWORKS).includes(network), `the approval is for the network ${network}`);
  const by = await recover(
    hashTypedData({
      domain: {
        name: 'HyperliquidSignTransaction',
        version: '1',
        chainId: Number(action.signatureChainId),
        verifyingContract: NO_CONTRACT,
      },
      types: {
        'HyperliquidTransaction:ApproveAgent': [
          { name: 'hyperliquidChain', type: 'string' },
          { name: 'agentAddress', type: 'address' },
          { name: 'agentName', type: 'string' },
          { name: 'nonce', type: 'uint64' },
        ],
      },
      primaryType: 'HyperliquidTransaction:ApproveAgent',
      message: { hyperliquidChain: network, agentAddress: action.agentAddress.toLowerCase(), agentName: name, nonce: BigInt(nonce) },
    }),
    signature,
  );
  check(isSame(by, trader), `the approval is signed by ${by}, not by the trader`);
  check(isSame(action.agentAddress, signer), `the trader approved ${action.agentAddress}, not ${signer}`);
  const [, until] = /valid_until (\d{1,15})$/.exec(name) ?? [];
  const [tag = null] = /^gw[0-9a-f]{6}/.exec(name) ?? [];
  return { network, tag, endsAt: until === undefined ? Infinity : Number(until) };
}

/** What the name of an agent begins with: it binds the approval to a chain and a wallet of the relayer, with 24 bits. */
export const tagOf = (chainId, relayer) =>
  `gw${keccak256(encodePacked(['uint256', 'address'], [BigInt(chainId), relayer.toLowerCase()])).slice(2, 8)}`;
