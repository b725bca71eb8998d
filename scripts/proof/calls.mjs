import { decodeFunctionData, encodeFunctionData, keccak256, parseAbi, parseTransaction, recoverTransactionAddress } from 'viem';
import { isSame, tagOf } from './signatures.mjs';

/** The signed transaction of a proof, and the calls of the contract in it. */

const ABI = parseAbi([
  'struct Trade { address user; uint32 index; uint16 pairIndex; uint24 leverage; bool long; bool isOpen; uint8 collateralIndex; uint8 tradeType; uint120 collateralAmount; uint64 openPrice; uint64 tp; uint64 sl; bool isCounterTrade; uint160 positionSizeToken; uint24 __placeholder }',
  'function delegatedTradingAction(address trader, bytes callData)',
  'function multicall(bytes[] data)',
  'function openTrade(Trade trade, uint16 maxSlippageP, address referrer)',
  'function closeTradeMarket(uint32 index, uint64 expectedPrice)',
  'function decreasePositionSize(uint32 index, uint120 collateralDelta, uint24 leverageDelta, uint64 expectedPrice)',
  'function updateMaxClosingSlippageP(uint32 index, uint16 maxSlippageP)',
  'function updateOpenOrder(uint32 index, uint64 triggerPrice, uint64 tp, uint64 sl, uint16 maxSlippageP)',
  'function cancelOpenOrder(uint32 index)',
  'function cancelOrderAfterTimeout(uint32 orderIndex)',
  'function updateTp(uint32 index, uint64 newTp)',
  'function updateSl(uint32 index, uint64 newSl)',
  'function updateLeverage(uint32 index, uint24 newLeverage)',
]);

/** By chain id: the published contract, and the collateral that bots trade with, which is USDC or the only one: its index, and one unit of it. */
export const CHAINS = {
  42161: { diamond: '0xFF162c694eAA571f685030649814282eA457f169', collateral: 3, precision: 10n ** 6n, isTestnet: false },
  8453: { diamond: '0x6cD5aC19a07518A8092eEFfDA4f1174C72704eeb', collateral: 1, precision: 10n ** 6n, isTestnet: false },
  137: { diamond: '0x209A9A01980377916851af2cA075C2b170452018', collateral: 3, precision: 10n ** 6n, isTestnet: false },
  4326: { diamond: '0x2D5B1ba6E2093a5b927Fe5bF8C049B107de31eaF', collateral: 1, precision: 10n ** 18n, isTestnet: false },
  421614: { diamond: '0xd659a15812064C79E189fd950A189b15c75d3186', collateral: 3, precision: 10n ** 6n, isTestnet: true },
};

/** Behind the call: a mark of eight bytes and 16 random ones for each order. The contract ignores them. */
const TAGS = /^(?:6467777461673031[0-9a-f]{32})*$/;

/** Encoding again what was decoded finds bytes that the decoder did not look at. */
function decode(data) {
  try {
    const call = decodeFunctionData({ abi: ABI, data });
    const canonical = encodeFunctionData({ abi: ABI, ...call });
    const isWhole = data.toLowerCase().startsWith(canonical) && TAGS.test(data.slice(canonical.length).toLowerCase());
    return isWhole ? call : { functionName: 'a call with other bytes in it', args: [] };
  } catch {
    return { functionName: 'an unknown call', args: [] };
  }
}

/** The calls that are made for the trader, in their order. */
export function callsFor({ data, trader }, check) {
  const outer = decode(data);
  check(outer.functionName === 'delegatedTradingAction', 'the call is not a delegated one');
  const [account = '', inner = '0x'] = outer.args;
  check(isSame(account, trader), 'the call is for another trader');
  const first = decode(inner);
  return first.functionName === 'multicall' ? first.args[0].map(decode) : [first];
}

/** The call in the proof must be what the relayer signed, byte by byte, for this chain and its contract. */
export async function checkTransaction({ rawTransaction, txHash, relayer, to, data, chainId, purpose }, check) {
  const sent = await readTransaction(rawTransaction);
  if (sent === null) return check(false, 'there is no signed transaction in it');
  check(keccak256(rawTransaction) === txHash, 'the transaction has another hash');
  check(isSame(sent.from, relayer), `the transaction is signed by ${sent.from}, not by the relayer named`);
  check(isSame(sent.to ?? '', to), 'the transaction goes to another address');
  check(isSame(sent.data ?? '0x', data), 'the transaction carries other call data');
  check((sent.value ?? 0n) === 0n, 'the transaction moves ether');
  check(sent.chainId === chainId, `the transaction is for the chain ${sent.chainId}, not for ${chainId}`);
  const chain = CHAINS[chainId];
  check(chain !== undefined, `there is no contract on the chain ${chainId}`);
  // A no-op replaces an expired action: it only uses up the nonce.
  if (purpose === 'no-op') check(data === '0x' && isSame(to, relayer), 'it should do nothing, and does something');
  else check(isSame(to, chain?.diamond), `the contract of the chain ${chainId} is not ${to}`);
}

/** Null if it cannot be decoded. */
export async function readTransaction(serializedTransaction) {
  try {
    return { ...parseTransaction(serializedTransaction), from: await recoverTransactionAddress({ serializedTransaction }) };
  } catch {
    return null;
  }
}

/**
 * Only the trader's delegate can make the contract act for the trader. The reader may know the delegate; otherwise the name of the agent
 * that the trader signed is bound to it, and on a test network, where names need not be, the delegate that the proof says.
 */
export function checkRelayer({ chainId, relayer, delegate }, approval, expected, check) {
  if (expected.relayer !== undefined)
    return check(isSame(relayer, expected.relayer), `it is sent by ${relayer}, and the relayer is ${expected.relayer}`);
  const hint = 'If the trader has made it the delegate on chain, name it with --relayer';
  if (approval !== null && approval.tag !== null)
    return check(
      approval.tag === tagOf(chainId, relayer),
      `the trader approved the agent for another chain or relayer: ${approval.tag}, and ${relayer} on ${chainId} is ${tagOf(chainId, relayer)}. ${hint}`,
    );
  const isForTests = approval === null || (approval.network === 'Testnet' && CHAINS[chainId]?.isTestnet === true);
  check(isForTests, `the trader approved the agent for no relayer, so the approval is not for the chain ${chainId}`);
  check(isSame(delegate, relayer), `the delegate of the trader is ${delegate}, and not the relayer ${relayer}. ${hint}`);
}
