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
import {EffectiveLeverage} from "../lib/EffectiveLeverage.sol";
import {Events} from "../lib/Events.sol";

/// What an answered price does to a request for a larger position.
contract IncreaseCallbacks is Access {
    function sandboxOnIncrease(AggregatorAnswer calldata a, uint8 forced) external onlyOperator whenActivated {
        PendingOrder memory o = Store.state().pendingOrders[a.orderId.user][a.orderId.index];
        Trade memory t = Store.state().trades[o.trade.user][o.trade.index];
        Trade memory part = abi.decode(abi.encode(o.trade), (Trade));
        IncreasePositionSizeValues memory v;
        uint8 reason = NO_TRADE;
        if (t.isOpen) {
            Fees.refreshTier(t);
            v = prepareIncrease(t, part, a.current);
            reason = reasonToCancelIncrease(t, v, o, a.current);
            if (forced != NONE) reason = forced;
        }
        if (reason == NONE) {
            applyIncrease(a, t, v);
        } else {
            if (reason != NO_TRADE) Settlement.chargeGovFee(t, a.current);
            Settlement.pay(t.collateralIndex, t.user, o.trade.collateralAmount);
        }
        emitIncrease(a, t, o.trade, v, reason);
    }

    function emitIncrease(AggregatorAnswer calldata a, Trade memory t, Trade memory part, IncreasePositionSizeValues memory v, uint8 reason)
        private
    {
        uint256 priceUsd = Markets.priceUsd(t.collateralIndex);
        emit Events.PositionSizeIncreaseExecuted(
            a.orderId, reason, t.collateralIndex, t.user, t.pairIndex, t.index, t.long, a.current, priceUsd, part.collateralAmount,
            part.leverage, v
        );
    }

    function prepareIncrease(Trade memory t, Trade memory part, uint64 price) private view returns (IncreasePositionSizeValues memory v) {
        bool leverageOnly = part.collateralAmount == 0;
        v.positionSizeCollateralDelta = Maths.positionSize(leverageOnly ? t.collateralAmount : part.collateralAmount, part.leverage);
        if (t.isCounterTrade) cutCounterTrade(t, part, v, leverageOnly, price);
        v.existingPositionSizeCollateral = Maths.positionSizeOf(t);
        v.newPositionSizeCollateral = v.existingPositionSizeCollateral + v.positionSizeCollateralDelta;
        v.newCollateralAmount = uint256(t.collateralAmount) + part.collateralAmount;
        v.newLeverage = leverageOnly ? uint256(t.leverage) + part.leverage : (v.newPositionSizeCollateral * 1e3) / v.newCollateralAmount;
        // The leverage was truncated, so the size it stands for is taken anew.
        v.newPositionSizeCollateral = Maths.positionSize(v.newCollateralAmount, v.newLeverage);
        if (v.newPositionSizeCollateral < v.existingPositionSizeCollateral) return v;
        v.positionSizeCollateralDelta = v.newPositionSizeCollateral - v.existingPositionSizeCollateral;
        v.priceImpact = Impact.opening(t, price, v.positionSizeCollateralDelta);
        uint256 x = v.priceImpact.priceAfterImpact;
        v.existingPnlCollateral =
            (Maths.pnlPercent(t.openPrice, x, t.long, t.leverage) * int256(uint256(t.collateralAmount))) / 100 / int256(P10);
        v.openingFeesCollateral = Fees.totalOf(t, v.positionSizeCollateralDelta);
        v.oldPosSizePlusPnlCollateral = uint256(
            int256(v.existingPositionSizeCollateral) + (t.long ? v.existingPnlCollateral : -v.existingPnlCollateral)
        );
        v.newOpenPrice = blendedPrice(t, v);
        v.existingLiqPrice = Holding.liquidationPriceOf(t, 0, price);
        LiqPriceInput memory p = Holding.liqInput(t, int256(v.openingFeesCollateral), price);
        p.openPrice = uint64(v.newOpenPrice);
        p.collateral = v.newCollateralAmount;
        p.leverage = v.newLeverage;
        p.liquidationParams = Markets.liquidationParams(t.pairIndex);
        v.newLiqPrice = Holding.liquidationPrice(p);
        v.newEffectiveLeverage = EffectiveLeverage.compute(
            t, v.newOpenPrice, v.newCollateralAmount, v.newLeverage, price, v.openingFeesCollateral
        );
    }

    /// Rounded against the trader: up on a long, down on a short.
    function blendedPrice(Trade memory t, IncreasePositionSizeValues memory v) private pure returns (uint256) {
        uint256 weighted = v.oldPosSizePlusPnlCollateral * t.openPrice + v.positionSizeCollateralDelta * v.priceImpact.priceAfterImpact;
        uint256 sum = v.oldPosSizePlusPnlCollateral + v.positionSizeCollateralDelta;
        if (sum == 0) return t.openPrice;
        return t.long ? Maths.ceilDiv(weighted, sum) : weighted / sum;
    }

    function cutCounterTrade(Trade memory t, Trade memory part, IncreasePositionSizeValues memory v, bool leverageOnly, uint64 price)
        private
        view
    {
        (v.isCounterTradeValidated, v.exceedingPositionSizeCollateral) = CounterTrades.check(t, v.positionSizeCollateralDelta, price);
        if (!v.isCounterTradeValidated || v.exceedingPositionSizeCollateral == 0) return;
        if (leverageOnly) {
            part.leverage -= uint24(Maths.ceilDiv(v.exceedingPositionSizeCollateral * 1e3, t.collateralAmount));
        } else {
            v.counterTradeCollateralToReturn = Maths.ceilDiv(v.exceedingPositionSizeCollateral * 1e3, part.leverage);
            part.collateralAmount -= uint120(v.counterTradeCollateralToReturn);
        }
        v.positionSizeCollateralDelta = Maths.positionSize(leverageOnly ? t.collateralAmount : part.collateralAmount, part.leverage);
    }

    function reasonToCancelIncrease(Trade memory t, IncreasePositionSizeValues memory v, PendingOrder memory o, uint64 price)
        private
        view
        returns (uint8)
    {
        if (v.newPositionSizeCollateral <= v.existingPositionSizeCollateral) return WRONG_TRADE;
        if (Maths.exceedsSlippage(v.priceImpact.priceAfterImpact, o.trade.openPrice, o.maxSlippageP, t.long)) return SLIPPAGE;
        if (t.tp > 0 && (t.long ? price >= t.tp : price <= t.tp)) return TP_REACHED;
        if (t.sl > 0 && (t.long ? price <= t.sl : price >= t.sl)) return SL_REACHED;
        if (Holding.isLiquidatable(t.long, price, v.existingLiqPrice) || Holding.isLiquidatable(t.long, price, v.newLiqPrice)) return LIQ_REACHED;
        if (!Markets.withinExposureLimits(t.collateralIndex, t.pairIndex, t.long, v.positionSizeCollateralDelta, price)) return EXPOSURE_LIMITS;
        if (v.newEffectiveLeverage > Markets.maxLeverage(t.pairIndex)) return MAX_LEVERAGE;
        if (!t.isCounterTrade) return NONE;
        bool tooHigh = v.newEffectiveLeverage > Store.state().counterTradeMaxLeverage[t.pairIndex];
        return !v.isCounterTradeValidated || tooHigh ? COUNTER_TRADE_CANCELED : NONE;
    }

    function applyIncrease(AggregatorAnswer calldata a, Trade memory t, IncreasePositionSizeValues memory v) private {
        Ledger.Change memory c;
        c.collateral = uint120(v.newCollateralAmount);
        c.leverage = uint24(v.newLeverage);
        c.openPrice = uint64(v.newOpenPrice);
        c.orderType = MARKET_PARTIAL_OPEN;
        c.sizeToken = v.priceImpact.positionSizeToken;
        c.price = a.current;
        Ledger.changePosition(t, c);
        Settlement.chargeFee(t.user, t.index, v.openingFeesCollateral, a.current);
        if (v.counterTradeCollateralToReturn > 0) {
            Settlement.pay(t.collateralIndex, t.user, v.counterTradeCollateralToReturn);
            emit Events.CounterTradeCollateralReturned(a.orderId, t.collateralIndex, t.user, v.counterTradeCollateralToReturn);
        }
        Fees.process(t, v.positionSizeCollateralDelta, MARKET_PARTIAL_OPEN, v.openingFeesCollateral);
    }
}
