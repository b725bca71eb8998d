// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "../lib/Types.sol";
import "../lib/Constants.sol";
import {Store} from "../lib/Store.sol";
import {Access} from "../lib/Access.sol";
import {Maths} from "../lib/Maths.sol";
import {Markets} from "../lib/Markets.sol";
import {Impact} from "../lib/Impact.sol";
import {Fees} from "../lib/Fees.sol";
import {Holding} from "../lib/Holding.sol";
import {Ledger} from "../lib/Ledger.sol";
import {Settlement} from "../lib/Settlement.sol";
import {CounterTrades} from "../lib/CounterTrades.sol";
import {Events} from "../lib/Events.sol";

/// What an answered price does to a market open and to a resting order.
contract OpenCallbacks is Access {
    function sandboxOnOpenMarket(AggregatorAnswer calldata a, uint8 forced) external onlyOperator whenActivated {
        PendingOrder memory o = Store.state().pendingOrders[a.orderId.user][a.orderId.index];
        Trade memory t = o.trade;
        Fees.refreshTier(t);
        Values memory v = prepare(t, a.current, o.maxSlippageP, a.current);
        if (forced != NONE) v.cancelReason = forced;
        if (v.cancelReason != NONE) return cancelMarket(a.orderId, t, v.cancelReason);
        t.openPrice = v.priceImpact.priceAfterImpact;
        t = register(t, v, a, MARKET_OPEN);
        uint256 priceUsd = Markets.priceUsd(t.collateralIndex);
        emit Events.MarketExecuted(
            a.orderId, t.user, t.index, t, true, a.current, t.openPrice, v.liqPrice, v.priceImpact, 0, 0, priceUsd
        );
    }

    function cancelMarket(Id calldata orderId, Trade memory t, uint8 reason) private {
        uint256 returned = t.collateralAmount - Fees.minGovOf(t);
        Settlement.pay(t.collateralIndex, t.user, returned);
        emit Events.MarketOpenCanceled(orderId, t.user, t.pairIndex, reason, returned);
    }

    /// The resting order's slot closes for good and the position gets an index of its own.
    function sandboxOnOpenTrigger(AggregatorAnswer calldata a, Id calldata tradeId, uint8 orderType, address initiator, uint8 forced)
        external
        onlyOperator
        whenActivated
    {
        Trade memory t = Store.state().trades[tradeId.user][tradeId.index];
        if (t.isOpen) Fees.refreshTier(t);
        Values memory v = validate(t, orderType, a.open, a.high, a.low, a.current);
        if (forced != NONE) v.cancelReason = forced;
        if (v.cancelReason != NONE) {
            emit Events.TriggerOrderCanceled(a.orderId, initiator, orderType, v.cancelReason);
            return;
        }
        v.limitIndex = t.index;
        Ledger.closeOrder(t);
        t.openPrice = uint64(v.executionPrice);
        t.tradeType = TYPE_TRADE;
        t = register(t, v, a, orderType);
        emitLimitExecuted(a.orderId, t, v, orderType, initiator);
    }

    function emitLimitExecuted(Id calldata orderId, Trade memory t, Values memory v, uint8 orderType, address initiator) private {
        uint256 priceUsd = Markets.priceUsd(t.collateralIndex);
        emit Events.LimitExecuted(
            orderId, t.user, t.index, v.limitIndex, t, initiator, orderType, v.executionPriceRaw, t.openPrice, v.liqPrice,
            v.priceImpact, 0, 0, priceUsd, v.exactExecution
        );
    }

    function register(Trade memory t, Values memory v, AggregatorAnswer calldata a, uint8 orderType) private returns (Trade memory) {
        if (v.collateralToReturn > 0) {
            Settlement.pay(t.collateralIndex, t.user, v.collateralToReturn);
            t.collateralAmount = v.newCollateralAmount;
            emit Events.CounterTradeCollateralReturned(a.orderId, t.collateralIndex, t.user, v.collateralToReturn);
        }
        t.positionSizeToken = uint160(v.priceImpact.positionSizeToken);
        return Settlement.register(t, v.openingFeeCollateral, orderType, a.current);
    }

    function validateTriggerOpenOrderCallback(
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

    function validate(Trade memory t, uint8 orderType, uint64 open, uint64 high, uint64 low, uint64 current)
        private
        view
        returns (Values memory v)
    {
        if (orderType != LIMIT_OPEN && orderType != STOP_OPEN) revert WrongOrderType();
        if (!t.isOpen) {
            v.cancelReason = NO_TRADE;
            return v;
        }
        bool exact = Impact.marketPrice(t, high) >= t.openPrice && Impact.marketPrice(t, low) <= t.openPrice;
        uint256 raw = exact ? Impact.oraclePrice(t, t.openPrice) : open;
        v = prepare(t, raw, Store.state().tradeInfos[t.user][t.index].maxSlippageP, current);
        v.exactExecution = exact;
        v.executionPriceRaw = raw;
        v.executionPrice = v.priceImpact.priceAfterImpact;
        if (!exact && !isHit(t, Impact.marketPrice(t, open))) v.cancelReason = NOT_HIT;
    }

    /// A stop waits for the price to move its way, a limit for the price to come back.
    function isHit(Trade memory t, uint64 price) private pure returns (bool) {
        return (t.tradeType == TYPE_STOP) == t.long ? price >= t.openPrice : price <= t.openPrice;
    }

    function prepare(Trade memory t, uint256 raw, uint256 maxSlippageP, uint64 current) private view returns (Values memory v) {
        uint256 size = Maths.positionSizeOf(t);
        bool counterRefused;
        if (t.isCounterTrade) {
            (counterRefused, v.collateralToReturn, v.newCollateralAmount) = CounterTrades.cut(t, size, current);
            size = Maths.positionSize(v.newCollateralAmount, t.leverage);
        }
        v.priceImpact = Impact.opening(t, raw, size);
        v.openingFeeCollateral = Fees.totalOf(t, size);
        v.liqPrice = liqPriceBeforeOpened(t, v);
        v.cancelReason = reasonToCancel(t, v, raw, size, maxSlippageP, current);
        if (v.cancelReason == NONE && counterRefused) v.cancelReason = COUNTER_TRADE_CANCELED;
    }

    function liqPriceBeforeOpened(Trade memory t, Values memory v) private view returns (uint256) {
        LiqPriceInput memory p = Holding.liqInput(t, int256(v.openingFeeCollateral), 0);
        p.openPrice = v.priceImpact.priceAfterImpact;
        if (v.newCollateralAmount > 0) p.collateral = v.newCollateralAmount;
        p.liquidationParams = Markets.liquidationParams(t.pairIndex);
        p.beforeOpened = true;
        return Holding.liquidationPrice(p);
    }

    function reasonToCancel(Trade memory t, Values memory v, uint256 raw, uint256 size, uint256 maxSlippageP, uint64 current)
        private
        view
        returns (uint8)
    {
        uint256 price = v.priceImpact.priceAfterImpact;
        if (Maths.exceedsSlippage(price, t.openPrice, maxSlippageP, t.long)) return SLIPPAGE;
        if (t.tp > 0 && (t.long ? price >= t.tp : price <= t.tp)) return TP_REACHED;
        if (t.sl > 0 && (t.long ? raw <= t.sl : raw >= t.sl)) return SL_REACHED;
        if (Holding.isLiquidatable(t.long, current, v.liqPrice)) return LIQ_REACHED;
        if (!Markets.withinExposureLimits(t.collateralIndex, t.pairIndex, t.long, size, current)) return EXPOSURE_LIMITS;
        if (Impact.openingLossP(v.priceImpact, t.leverage, t.long) > MAX_OPEN_NEGATIVE_PNL_P) return PRICE_IMPACT;
        return t.leverage > Markets.maxLeverage(t.pairIndex) ? MAX_LEVERAGE : NONE;
    }
}
