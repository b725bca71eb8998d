// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";
import "./Constants.sol";
import {Store} from "./Store.sol";
import {Maths} from "./Maths.sol";
import {Markets} from "./Markets.sol";
import {Fees} from "./Fees.sol";
import {Funding} from "./Funding.sol";
import {Events} from "./Events.sol";

/// What holding a position costs, what it has already paid, and from both its value and liquidation price.
library Holding {
    function s() private pure returns (Store.Layout storage) {
        return Store.state();
    }

    function fundingOf(Trade memory t, uint64 price) internal view returns (int256) {
        if (s().tradeInfos[t.user][t.index].contractsVersion < VERSION_V10 || t.openPrice == 0) return 0;
        (int128 accLong, int128 accShort, ) = Funding.pendingFunding(t.collateralIndex, t.pairIndex, price);
        int256 acc = int256(t.long ? accLong : accShort) - s().tradeFeesData[t.user][t.index].initialAccFundingFeeP;
        return (int256(Maths.positionSizeOf(t)) * acc) / int256(uint256(t.openPrice)) / 1e10 / 100;
    }

    function borrowingOf(Trade memory t, uint64 price) internal view returns (uint256) {
        if (t.openPrice == 0) return 0;
        uint256 acc = Funding.pendingBorrowing(t.collateralIndex, t.pairIndex, price);
        acc -= s().tradeFeesData[t.user][t.index].initialAccBorrowingFeeP;
        return (Maths.positionSizeOf(t) * acc) / t.openPrice / 1e10 / 100;
    }

    /// Borrowing v1 is off here: its rate is zero for every pair, so its fee is always zero.
    function pending(Trade memory t, uint64 price) internal view returns (TradeHoldingFees memory f) {
        f.fundingFeeCollateral = fundingOf(t, price);
        f.borrowingFeeCollateral = borrowingOf(t, price);
        f.totalFeeCollateral = f.fundingFeeCollateral + int256(f.borrowingFeeCollateral);
    }

    function realized(address user, uint32 index) internal view returns (int256) {
        TradeFeesData storage d = s().tradeFeesData[user][index];
        return int256(d.realizedPnlCollateral) - int256(uint256(d.realizedTradingFeesCollateral));
    }

    /// Fees and profits are read from the stored trade: `t` may carry the size it is about to get.
    function value(Trade memory t, int256 pnlP, uint256 closingFee, uint64 price) internal view returns (uint256) {
        int256 holding = pending(s().trades[t.user][t.index], price).totalFeeCollateral;
        int256 owed = int256(closingFee) + holding - realized(t.user, t.index);
        return Maths.tradeValue(t.collateralAmount, pnlP, owed, Markets.collateral(t.collateralIndex).precisionDelta);
    }

    function liquidationPrice(LiqPriceInput memory p) internal view returns (uint256) {
        int256 fees = int256(Fees.undiscounted(p.collateralIndex, p.pairIndex, Maths.positionSize(p.collateral, p.leverage), p.isCounterTrade));
        if (!p.beforeOpened) {
            int256 owed = pending(s().trades[p.trader][p.index], p.currentPairPrice).totalFeeCollateral - realized(p.trader, p.index);
            fees += (owed * int256(p.partialCloseMultiplier)) / 1e18;
        }
        fees += p.additionalFeeCollateral;
        int256 distance = liquidationDistance(p, fees);
        if (p.beforeOpened || s().tradeInfos[p.trader][p.index].contractsVersion >= VERSION_V9_2) {
            uint256 spread = Maths.min(Markets.spreadP(p.trader, p.pairIndex) / 2, p.liquidationParams.maxLiqSpreadP);
            distance -= int256((uint256(p.openPrice) * spread) / 1e10 / 100);
        }
        int256 price = int256(uint256(p.openPrice)) + (p.long ? -distance : distance);
        return price > 0 ? uint256(price) : 0;
    }

    function liquidationDistance(LiqPriceInput memory p, int256 fees) private view returns (int256) {
        int256 pd = int256(uint256(Markets.collateral(p.collateralIndex).precisionDelta));
        int256 threshold = int256(Maths.liqThresholdP(p.liquidationParams, p.leverage));
        int256 bearable = (int256(p.collateral) * threshold * pd * 1e3) / 100 / 1e10 - fees * pd * 1e3;
        return (int256(uint256(p.openPrice)) * bearable) / int256(p.collateral) / int256(p.leverage) / pd;
    }

    function liqInput(Trade memory t, int256 additionalFee, uint64 price) internal view returns (LiqPriceInput memory p) {
        p.collateralIndex = t.collateralIndex;
        p.trader = t.user;
        p.pairIndex = t.pairIndex;
        p.index = t.index;
        p.openPrice = t.openPrice;
        p.long = t.long;
        p.collateral = t.collateralAmount;
        p.leverage = t.leverage;
        p.additionalFeeCollateral = additionalFee;
        p.liquidationParams = s().tradeLiquidationParams[t.user][t.index];
        p.currentPairPrice = price;
        p.isCounterTrade = t.isCounterTrade;
        p.partialCloseMultiplier = 1e18;
    }

    function liquidationPriceOf(Trade memory t, int256 additionalFee, uint64 price) internal view returns (uint256) {
        return liquidationPrice(liqInput(t, additionalFee, price));
    }

    function isLiquidatable(bool long, uint256 price, uint256 liqPrice) internal pure returns (bool) {
        return long ? price <= liqPrice : price >= liqPrice;
    }

    /// The part of a position's collateral that still lies in the Diamond; negative would mean it paid out what it does not have.
    function availableRaw(address user, uint32 index, uint256 collateral) internal view returns (int256) {
        TradeFeesData storage d = s().tradeFeesData[user][index];
        return
            int256(collateral + d.virtualAvailableCollateralInDiamond) -
            int256(uint256(d.realizedTradingFeesCollateral)) -
            int256(uint256(d.manuallyRealizedNegativePnlCollateral)) -
            int256(uint256(d.alreadyTransferredNegativePnlCollateral));
    }

    function available(address user, uint32 index, uint256 collateral) internal view returns (uint256) {
        int256 raw = availableRaw(user, index, collateral);
        if (raw < 0) revert BelowMin();
        return uint256(raw);
    }

    /// Must run before the position's size or the pair's open interest changes.
    function realize(Trade memory t, uint64 price) internal {
        TradeHoldingFees memory f = pending(t, price);
        TradeFeesData storage d = s().tradeFeesData[t.user][t.index];
        if (f.totalFeeCollateral > 0) {
            uint256 fee = uint256(f.totalFeeCollateral);
            uint256 inDiamond = available(t.user, t.index, t.collateralAmount);
            uint256 sent = Maths.min(fee, inDiamond);
            d.realizedTradingFeesCollateral += uint128(sent);
            d.realizedPnlCollateral -= int128(int256(fee - sent));
            emit Events.HoldingFeesChargedOnTrade(
                t.collateralIndex, t.user, t.index, price, f, inDiamond, sent, d.realizedTradingFeesCollateral, d.realizedPnlCollateral
            );
        } else {
            d.realizedPnlCollateral -= int128(f.totalFeeCollateral);
            emit Events.HoldingFeesRealizedOnTrade(t.collateralIndex, t.user, t.index, price, f, d.realizedPnlCollateral);
        }
        UiRealizedPnlData storage ui = s().uiRealizedPnl[t.user][t.index];
        ui.realizedNewBorrowingFeesCollateral += uint128(f.borrowingFeeCollateral);
        ui.realizedFundingFeesCollateral += int128(f.fundingFeeCollateral);
    }

    /// From now on the position is charged for what accrues after this moment.
    function resetAccumulators(Trade memory t, uint64 price) internal {
        (int128 accLong, int128 accShort) = Funding.storeFunding(t.collateralIndex, t.pairIndex, price);
        TradeFeesData storage d = s().tradeFeesData[t.user][t.index];
        d.initialAccFundingFeeP = t.long ? accLong : accShort;
        d.initialAccBorrowingFeeP = Funding.storeBorrowing(t.collateralIndex, t.pairIndex, price);
    }

    function downscale(Trade memory t, uint256 delta, uint256 whole, uint256 newCollateral) internal {
        TradeFeesData storage d = s().tradeFeesData[t.user][t.index];
        d.realizedTradingFeesCollateral -= uint128((delta * d.realizedTradingFeesCollateral) / whole);
        int256 pnl = d.realizedPnlCollateral;
        uint256 share = delta * Maths.abs(pnl);
        d.realizedPnlCollateral = int128(pnl > 0 ? pnl - int256(Maths.ceilDiv(share, whole)) : pnl + int256(share / whole));
        d.manuallyRealizedNegativePnlCollateral -= uint128((delta * d.manuallyRealizedNegativePnlCollateral) / whole);
        d.alreadyTransferredNegativePnlCollateral -= uint128((delta * d.alreadyTransferredNegativePnlCollateral) / whole);
        d.virtualAvailableCollateralInDiamond -= uint128(Maths.ceilDiv(delta * d.virtualAvailableCollateralInDiamond, whole));
        topUpVirtual(t, newCollateral);
    }

    /// Collateral leaves, fees stay: the gap is booked so that the available collateral never turns negative.
    function topUpVirtual(Trade memory t, uint256 newCollateral) internal {
        TradeFeesData storage d = s().tradeFeesData[t.user][t.index];
        if (d.manuallyRealizedNegativePnlCollateral > newCollateral) d.manuallyRealizedNegativePnlCollateral = uint128(newCollateral);
        int256 raw = availableRaw(t.user, t.index, newCollateral);
        if (raw < 0) d.virtualAvailableCollateralInDiamond += uint128(uint256(-raw));
    }
}
