// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "../lib/Types.sol";
import "../lib/Constants.sol";
import {Store} from "../lib/Store.sol";
import {Access} from "../lib/Access.sol";
import {Maths} from "../lib/Maths.sol";
import {Markets} from "../lib/Markets.sol";
import {Impact} from "../lib/Impact.sol";
import {Holding} from "../lib/Holding.sol";
import {Settlement} from "../lib/Settlement.sol";
import {Events} from "../lib/Events.sol";

/// What an answered price does to a market close, a take profit, a stop loss and a liquidation.
contract CloseCallbacks is Access {
    function sandboxOnCloseMarket(AggregatorAnswer calldata a, uint8 forced) external onlyOperator whenNotPaused {
        PendingOrder memory o = Store.state().pendingOrders[a.orderId.user][a.orderId.index];
        Trade memory t = Store.state().trades[o.trade.user][o.trade.index];
        TradePriceImpact memory impact = Impact.closing(t, a.current, Maths.positionSizeOf(t), a.current);
        uint8 reason = t.isOpen ? NONE : NO_TRADE;
        if (reason == NONE && exceedsClosingSlippage(t, impact.priceAfterImpact, o.trade.openPrice)) reason = SLIPPAGE;
        if (reason != NO_TRADE && forced != NONE) reason = forced;
        if (reason == NONE) return executeMarket(a, t, impact);
        if (reason != NO_TRADE) Settlement.chargeGovFee(t, a.current);
        emit Events.MarketCloseCanceled(a.orderId, t.user, t.pairIndex, t.index, reason);
    }

    function executeMarket(AggregatorAnswer calldata a, Trade memory t, TradePriceImpact memory impact) private {
        Values memory v;
        v.profitP = Maths.pnlPercent(t.openPrice, impact.priceAfterImpact, t.long, t.leverage);
        v.liqPrice = Holding.liquidationPriceOf(t, 0, a.current);
        v.amountSentToTrader = Settlement.close(t, v.profitP, MARKET_CLOSE, a.current, v.liqPrice, a.current);
        v.collateralPriceUsd = Markets.priceUsd(t.collateralIndex);
        emit Events.MarketExecuted(
            a.orderId, t.user, t.index, t, false, a.current, impact.priceAfterImpact, v.liqPrice, impact, v.profitP,
            v.amountSentToTrader, v.collateralPriceUsd
        );
    }

    function sandboxOnCloseTrigger(AggregatorAnswer calldata a, Id calldata tradeId, uint8 orderType, address initiator, uint8 forced)
        external
        onlyOperator
        whenNotPaused
    {
        Trade memory t = Store.state().trades[tradeId.user][tradeId.index];
        Values memory v = validate(t, orderType, a.open, a.high, a.low, a.current);
        if (forced != NONE) v.cancelReason = forced;
        if (v.cancelReason != NONE) {
            emit Events.TriggerOrderCanceled(a.orderId, initiator, orderType, v.cancelReason);
            return;
        }
        v.profitP = Maths.pnlPercent(t.openPrice, v.executionPrice, t.long, t.leverage);
        v.amountSentToTrader = Settlement.close(t, v.profitP, orderType, v.executionPriceRaw, v.liqPrice, a.current);
        v.collateralPriceUsd = Markets.priceUsd(t.collateralIndex);
        emitLimitExecuted(a.orderId, t, v, orderType, initiator);
    }

    function emitLimitExecuted(Id calldata orderId, Trade memory t, Values memory v, uint8 orderType, address initiator) private {
        emit Events.LimitExecuted(
            orderId, t.user, t.index, 0, t, initiator, orderType, v.executionPriceRaw, v.executionPrice, v.liqPrice,
            v.priceImpact, v.profitP, v.amountSentToTrader, v.collateralPriceUsd, v.exactExecution
        );
    }

    function validateTriggerCloseOrderCallback(
        Id calldata tradeId,
        uint8 orderType,
        uint64 open,
        uint64 high,
        uint64 low,
        uint64 currentPairPrice
    ) external view returns (Trade memory t, Values memory v) {
        t = Store.state().trades[tradeId.user][tradeId.index];
        v = validate(t, orderType, open, high, low, currentPairPrice);
    }

    /// Take profit and stop loss look at the market price, liquidation at the oracle's.
    function validate(Trade memory t, uint8 orderType, uint64 open, uint64 high, uint64 low, uint64 current)
        private
        view
        returns (Values memory v)
    {
        if (orderType < TP_CLOSE || orderType > LIQ_CLOSE) revert WrongOrderType();
        if (!t.isOpen) {
            v.cancelReason = NO_TRADE;
            return v;
        }
        bool liq = orderType == LIQ_CLOSE;
        v.liqPrice = Holding.liquidationPriceOf(t, 0, current);
        uint256 trigger = liq ? v.liqPrice : orderType == TP_CLOSE ? t.tp : t.sl;
        uint256 openPrice = liq ? open : Impact.marketPrice(t, open);
        v.exactExecution =
            trigger > 0 &&
            (liq ? low : Impact.marketPrice(t, low)) <= trigger &&
            (liq ? high : Impact.marketPrice(t, high)) >= trigger;
        v.executionPriceRaw = !v.exactExecution ? open : liq ? trigger : Impact.oraclePrice(t, trigger);
        v.executionPrice = v.executionPriceRaw;
        if (!liq) {
            v.priceImpact = Impact.closing(t, v.executionPriceRaw, Maths.positionSizeOf(t), current);
            v.executionPrice = v.priceImpact.priceAfterImpact;
        }
        // A take profit is hit from below on a long; stop loss and liquidation from above.
        bool fromBelow = (orderType == TP_CLOSE) == t.long;
        bool beyond = (liq || trigger > 0) && (fromBelow ? openPrice >= trigger : openPrice <= trigger);
        if (!v.exactExecution && !beyond) v.cancelReason = NOT_HIT;
        else if (!liq && exceedsClosingSlippage(t, v.executionPrice, trigger)) v.cancelReason = SLIPPAGE;
    }

    function exceedsClosingSlippage(Trade memory t, uint256 price, uint256 expected) private view returns (bool) {
        uint256 stored = Store.state().tradeInfos[t.user][t.index].maxSlippageP;
        return Maths.exceedsSlippage(price, expected, stored > 0 ? stored : DEFAULT_CLOSING_SLIPPAGE_P, !t.long);
    }
}
