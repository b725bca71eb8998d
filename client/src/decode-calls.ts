import { decodeFunctionData, encodeFunctionData, type DecodeFunctionDataReturnType } from 'viem/utils';
import type { Hex } from './api.js';
import { DIAMOND_ABI } from './diamond-abi.js';
import { requireSame, VerificationError } from './errors.js';

type AnyCall = DecodeFunctionDataReturnType<typeof DIAMOND_ABI>;
type Wrapper = 'multicall' | 'delegatedTradingAction';

/** One call of the Diamond that a trader makes. */
export type Call = Exclude<AnyCall, { functionName: Wrapper }>;

/** Behind the call data: a mark of eight bytes and 16 random ones for each order that the transaction makes. */
const TAGS = /^(?:6467777461673031[0-9a-f]{32}){1,21}$/;

/** Encoding again what was decoded finds bytes that the decoder did not look at. */
function decode(data: Hex, mayHaveTags: boolean): AnyCall {
  const { call, canonical } = decodeKnown(data);
  const given = data.toLowerCase();
  const rest = given.slice(canonical.length);
  if (!given.startsWith(canonical) || (rest !== '' && !(mayHaveTags && TAGS.test(rest))))
    throw new VerificationError('ENCODING', `the data of ${call.functionName} contains bytes that are not part of the call`);
  return call;
}

/** Arguments that were decoded may still not be encodable: an address in the data may be of more than twenty bytes. */
function decodeKnown(data: Hex): { readonly call: AnyCall; readonly canonical: Hex } {
  try {
    const call = decodeFunctionData({ abi: DIAMOND_ABI, data });
    return { call, canonical: encodeFunctionData({ abi: DIAMOND_ABI, ...call }) };
  } catch {
    throw new VerificationError('FUNCTION', `the transaction calls a function that the client does not know`, null, data.slice(0, 10));
  }
}

/** The calls of a prepared transaction, without the delegation around them; in the order in which they are made. */
export function decodeCalls(data: Hex, { trader, sender }: { readonly trader: Hex; readonly sender: Hex }): readonly Call[] {
  const outer = decode(data, true);
  if (sender.toLowerCase() === trader.toLowerCase()) return flatten(outer);
  if (outer.functionName !== 'delegatedTradingAction')
    throw new VerificationError('FUNCTION', 'an agent may only act for its trader', 'delegatedTradingAction', outer.functionName);
  const [account, inner] = outer.args;
  requireSame('TRADER', 'the transaction acts for another account', trader, account);
  return flatten(decode(inner, false));
}

function flatten(call: AnyCall): readonly Call[] {
  if (call.functionName !== 'multicall') return [single(call)];
  return call.args[0].map((part) => single(decode(part, false)));
}

function single(call: AnyCall): Call {
  if (call.functionName === 'multicall' || call.functionName === 'delegatedTradingAction')
    throw new VerificationError('FUNCTION', 'calls are nested in a way that no operation needs', null, call.functionName);
  return call;
}
