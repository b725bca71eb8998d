import { callsFor, CHAINS } from './calls.mjs';
import { isDollar, units } from './figures.mjs';
import { precisionOf, USUAL_LEVERAGE } from './openings.mjs';
import { NETWORKS } from './signatures.mjs';

/** What a proof cannot show, in full, and who can be asked. */
export function unprovenOf(proof, expected) {
  const { txHash, blockNumber, chainId, trader, to, signer, network } = proof;
  const place = blockNumber === null ? 'that it is in no block' : `that it is in block ${blockNumber} and succeeded`;
  return [
    `${place}: ask a node of chain ${chainId} for the receipt of ${txHash}. The contract lets only the trader's delegate act, so success also shows that ${proof.relayer} was it.`,
    ...(expected.relayer === undefined
      ? [
          `that ${proof.relayer} is the relayer of ${trader}: ask ${CHAINS[chainId]?.diamond ?? to} for getTradingDelegate(${trader}), and give the answer with --relayer. Without it the name of the agent binds the relayer with 24 bits, and where the name does not, only the proof says it.`,
        ]
      : []),
    `that the action was meant for chain ${chainId}: an action names no chain, and its network (${NETWORKS[network]}) is taken on all. The approval of the key does, by the agent's name.`,
    `that ${trader} had not removed the key ${signer}, nor approved it anew, when the action arrived.`,
    `the times: when the action arrived (${proof.receivedAt}) and was signed for (${proof.signedAt}) are the service's; a node says the time of the block (${proof.minedAt ?? 'none'}).`,
    `that no other transaction was made for the same action: give the proofs of all transactions of ${proof.relayer} for ${trader} together.`,
    `the state (${proof.state}), the order (${proof.orderId ?? 'none'}) and what became of it (${proof.outcome ?? 'nothing'}).`,
    `the figures in the context, which are the trades, prices and limits of that moment, and that asset's multiplier (${proof.multiplier}).`,
    ...(proof.purpose === 'no-op' ? [] : [...ofOpening(proof, expected), ...ofMargin(proof), ...ofTarget(proof)]),
  ];
}

const ignore = () => undefined;
const times = (thousandths) => `${Number(thousandths) / 1000}x`;
const dollars = (priceUsd) => `$${Number(priceUsd) / 1e8}`;
const MARKET = 0;

/** The figures that an opening is reckoned with and that no signature covers. */
function ofOpening(proof, { collateral: named, usualLeverage }) {
  const call = callsFor(proof, ignore).at(-1);
  if (call.functionName !== 'openTrade') return [];
  const [trade] = call.args;
  const { collateral, predicted, block } = JSON.parse(proof.context).context;
  const [priceUsd, unit] = [units(collateral.priceUsd), units(collateral.precision)];
  const isKnown = precisionOf(trade.collateralIndex, proof) !== null;
  return [
    ...ofLeverage(proof, trade, usualLeverage),
    ...(named === undefined || isKnown ? [] : [`that a unit of the collateral ${named}, which you name, is ${unit}.`]),
    ...(isKnown && isDollar(priceUsd)
      ? []
      : [
          `that the collateral ${trade.collateralIndex} was worth ${dollars(priceUsd)} at block ${block.$n}: its amount (${trade.collateralAmount}) follows from this price, which only the context says. If it was worth a dollar, as a stablecoin is, the position is ${times(10n ** 11n / priceUsd)} of the signed size.`,
        ]),
    ...(trade.tradeType === MARKET
      ? [
          `that the market was at ${units(predicted)} (1e-10 units) at block ${block.$n}: the collateral of a market order is reckoned with this price, which is within the signed limit.`,
        ]
      : []),
  ];
}

function ofLeverage({ leverage, trader }, trade, usualLeverage) {
  const signed = leverage === null ? (usualLeverage ?? USUAL_LEVERAGE) : JSON.parse(leverage.envelope).action.leverage;
  const isOther = BigInt(signed) * 1000n !== BigInt(trade.leverage);
  const whose = leverage === null ? `the service's usual one${usualLeverage === undefined ? '' : ', as you say'}` : 'the signed one';
  return [
    ...(isOther
      ? [
          `that the market's limits ask for the leverage ${times(trade.leverage)} of this trade instead of ${signed}x, which is ${whose}: only the context says these limits.`,
        ]
      : []),
    leverage === null
      ? `that ${trader} set no leverage: none is signed, and ${signed}x is ${whose}.`
      : `that the leverage which was signed with the nonce ${leverage.nonce} is the last one that ${trader} set before the order.`,
  ];
}

/** Margin is signed in dollars; what it does to a trade follows from what the trade had. */
function ofMargin(proof) {
  const { kind, context } = JSON.parse(proof.context);
  if (kind !== 'margin') return [];
  const { tradeIndex, collateralAmount, leverage, collateral } = context;
  return [
    `that trade ${tradeIndex} is of the market that was signed, and had ${units(collateralAmount)} of a collateral whose unit is ${units(collateral.precision)} and which was worth ${dollars(units(collateral.priceUsd))}, at ${times(units(leverage))}: its new leverage follows from these.`,
  ];
}

/** What is canceled or closed, and why. */
function ofTarget({ purpose, context: text, trader, nonce, relayer }) {
  const { kind, intent, tradeIndex, expectedPrice } = JSON.parse(text);
  const index = intent?.tradeIndex ?? intent?.requestIndex ?? tradeIndex;
  if (purpose === 'reclaim')
    return [
      `that request ${index} is one of ${trader} whose time was over: nothing is signed about it, and ${relayer} may take back any. The contract refuses one that is not over, and pays its collateral to ${trader}.`,
    ];
  if (purpose === 'scheduled-cancel')
    return [
      `that the schedule which was signed with the nonce ${nonce} is the last one of ${trader}: a later one moves it or takes it away.`,
      kind === 'flatten'
        ? `that trade ${index} was open, that the price was ${units(expectedPrice)} (1e-10 units), and that the operator has schedules close positions, which a schedule alone does not say.`
        : `that ${intent.kind === 'reclaim' ? 'request' : 'order'} ${index} of the contract is one of ${trader} and was open when the schedule came due: a schedule names none.`,
    ];
  return ['cancel', 'replace', 'child'].includes(kind)
    ? [`that the order which the action names is the one at index ${index} of the contract.`]
    : [];
}
