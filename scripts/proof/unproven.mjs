import { CHAINS } from './calls.mjs';

/** What a proof cannot show, in full, and who can be asked. */
export function unprovenOf(proof, { relayer, usualLeverage }) {
  const { txHash, blockNumber, chainId, trader, to, signer } = proof;
  const { kind, context, intent } = JSON.parse(proof.context);
  const place = blockNumber === null ? 'that it is in no block' : `that it is in block ${blockNumber} and succeeded`;
  const opens = (kind === 'order' || kind === 'replace') && context.chosen !== undefined;
  return [
    `${place}: ask a node of chain ${chainId} for the receipt of ${txHash}. The contract lets only the trader's delegate act, so success also shows that ${proof.relayer} was it.`,
    ...(relayer === undefined
      ? [
          `that ${proof.relayer} is the relayer of ${trader}: ask ${CHAINS[chainId]?.diamond ?? to} for getTradingDelegate(${trader}), and give the answer with --relayer. Without it the name of the agent binds the relayer with 24 bits, and where the name does not, only the proof says it.`,
        ]
      : []),
    `that ${trader} had not removed the key ${signer}, nor approved it anew, when the action arrived.`,
    `the times: when the action arrived (${proof.receivedAt}) and was signed for (${proof.signedAt}) are the service's; a node says the time of the block (${proof.minedAt ?? 'none'}).`,
    `that no other transaction was made for the same action: give the proofs of all transactions of ${proof.relayer} for ${trader} together.`,
    `the state (${proof.state}), the order (${proof.orderId ?? 'none'}) and what became of it (${proof.outcome ?? 'nothing'}).`,
    `the figures in the context, which are the trades, prices and limits of that moment, and that asset's multiplier (${proof.multiplier}).`,
    ...(opens && proof.leverage === null
      ? [
          `that ${trader} set no leverage: none is signed, and ${context.leverage.$n / 1000}x is the service's usual one${usualLeverage === undefined ? '' : ', as you say'}.`,
        ]
      : []),
    ...(opens && proof.leverage !== null
      ? [`that the leverage which was signed with the nonce ${proof.leverage.nonce} is the last one that ${trader} set before the order.`]
      : []),
    ...(kind === 'cancel' || kind === 'replace' || kind === 'child'
      ? [
          `that the order which the action names is the one at index ${intent?.tradeIndex ?? intent?.requestIndex ?? JSON.parse(proof.context).tradeIndex} of the contract.`,
        ]
      : []),
  ];
}
