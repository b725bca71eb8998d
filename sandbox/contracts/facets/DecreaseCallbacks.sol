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
import {Events} from "../lib/Events.sol";

/// What an answered price does to a request for a smaller position.
contract DecreaseCallbacks is Access {
    function sandboxOnDecrease(AggregatorAnswer calldata a, uint8 forced) external onlyOperator whenNotPaused {
        Trade memory part = Store.state().pendingOrders[a.orderId.user][a.orderId.index].trade;
        Trade memory t = Store.state().trades[part.user][part.index];
        DecreasePositionSizeValues memory v;
        uint8 reason = NO_TRADE;
        if (t.isOpen) {
            Fees.refreshTier(t);
            v = prepareDecrease(t, part, a.current);
            reason = reasonToCancelDecrease(t, v, part.openPrice, a.current);
            if (forced != NONE) reason = forced;
        }
        if (reason == NONE) applyDecrease(t, part, v, a.current);
        else if (reason != NO_TRADE) Settlement.chargeGovFee(t, a.current);
        emitDecrease(a, t, part, v, reason);
    }

    function emitDecrease(AggregatorAnswer calldata a, Trade memory t, Trade memory part, DecreasePositionSizeValues memory v, uint8 reason)
        private
    {
        uint256 priceUsd = Markets.priceUsd(t.collateralIndex);
        emit Events.PositionSizeDecreaseExecuted(
            a.orderId, reason, t.collateralIndex, t.user, t.pairIndex, t.index, t.long, a.current, priceUsd, part.collateralAmount,
            part.leverage, v
        );
    }

    function prepareDecrease(Trade memory t, Trade memory part, uint64 price) private view returns (DecreasePositionSizeValues memory v) {
        v.isLeverageUpdate = part.leverage > 0;
        v.positionSizeCollateralDelta = v.isLeverageUpdate
            ? Maths.positionSize(t.collateralAmount, part.leverage)
            : Maths.positionSize(part.collateralAmount, t.leverage);
        v.existingPositionSizeCollateral = Maths.positionSizeOf(t);
        v.priceImpact = Impact.closing(t, price, v.positionSizeCollateralDelta, price);
        v.existingPnlPercent = Maths.pnlPercent(t.openPrice, v.priceImpact.priceAfterImpact, t.long, t.leverage);
        int256 delta = int256(v.positionSizeCollateralDelta);
        int256 whole = int256(v.existingPositionSizeCollateral);
        int256 collateral = int256(uint256(t.collateralAmount));
        v.partialRawPnlCollateral = (v.existingPnlPercent * collateral * delta) / whole / 1e10 / 100;
        // The fee comes off afterwards: the minimum fee applies to the part, not to the whole.
        v.partialNetPnlCollateral = ((int256(Holding.value(t, v.existingPnlPercent, 0, price)) - collateral) * delta) / whole;
        v.closingFeeCollateral = Fees.totalOf(t, v.positionSizeCollateralDelta);
        v.collateralSentToTrader = int256(uint256(part.collateralAmount)) + v.partialNetPnlCollateral - int256(v.closingFeeCollateral);
        if (v.isLeverageUpdate) {
            v.pnlToRealizeCollateral = v.partialRawPnlCollateral - (v.collateralSentToTrader > 0 ? v.collateralSentToTrader : int256(0));
        }
        v.newCollateralAmount = t.collateralAmount - part.collateralAmount;
        v.newLeverage = t.leverage - part.leverage;
        v.existingLiqPrice = Holding.liquidationPriceOf(t, 0, price);
        LiqPriceInput memory p = Holding.liqInput(t, 0, price);
        p.collateral = v.newCollateralAmount;
        p.leverage = v.newLeverage;
        if (v.isLeverageUpdate) p.additionalFeeCollateral = int256(v.closingFeeCollateral) - v.pnlToRealizeCollateral;
        else p.partialCloseMultiplier = uint256((whole - delta) * 1e18) / uint256(whole);
        v.newLiqPrice = Holding.liquidationPrice(p);
    }

    function reasonToCancelDecrease(Trade memory t, DecreasePositionSizeValues memory v, uint256 expected, uint64 price)
        private
        view
        returns (uint8)
    {
        if (Holding.isLiquidatable(t.long, price, v.existingLiqPrice) || Holding.isLiquidatable(t.long, price, v.newLiqPrice)) return LIQ_REACHED;
        uint256 stored = Store.state().tradeInfos[t.user][t.index].maxSlippageP;
        uint256 slippageP = stored > 0 ? stored : DEFAULT_CLOSING_SLIPPAGE_P;
        if (Maths.exceedsSlippage(v.priceImpact.priceAfterImpact, expected, slippageP, !t.long)) return SLIPPAGE;
        return !v.isLeverageUpdate && v.collateralSentToTrader < 0 ? WRONG_TRADE : NONE;
    }

    function applyDecrease(Trade memory t, Trade memory part, DecreasePositionSizeValues memory v, uint64 price) private {
        Ledger.Change memory c;
        c.collateral = v.newCollateralAmount;
        c.leverage = v.newLeverage;
        c.openPrice = t.openPrice;
        c.orderType = MARKET_PARTIAL_CLOSE;
        c.sizeToken = v.priceImpact.positionSizeToken;
        c.isPnlPositive = v.existingPnlPercent > 0;
        c.price = price;
        Ledger.changePosition(t, c);
        v.totalAvailableCollateralInDiamond = Holding.available(t.user, t.index, t.collateralAmount);
        if (!v.isLeverageUpdate) v.availableCollateralInDiamond = availableForPart(t, part, v);
        else if (v.collateralSentToTrader < 0) v.collateralSentToTrader = lossToVault(t, v);
        Settlement.transferValue(t, v.collateralSentToTrader, v.availableCollateralInDiamond);
        if (v.isLeverageUpdate) settleLeverageDecrease(t, v, price);
        else settleCollateralDecrease(t, v);
        Store.state().uiRealizedPnl[t.user][t.index].realizedPnlPartialCloseCollateral += int128(
            v.collateralSentToTrader >= 0 ? v.partialNetPnlCollateral - int256(v.closingFeeCollateral) : v.partialRawPnlCollateral
        );
        Fees.process(t, v.positionSizeCollateralDelta, MARKET_PARTIAL_CLOSE, v.closingFeeCollateral);
    }

    function availableForPart(Trade memory t, Trade memory part, DecreasePositionSizeValues memory v) private pure returns (int256) {
        int256 missing = int256(uint256(t.collateralAmount)) - int256(v.totalAvailableCollateralInDiamond);
        uint256 share = missing > 0
            ? Maths.ceilDiv(uint256(missing) * v.positionSizeCollateralDelta, v.existingPositionSizeCollateral)
            : 0;
        return int256(uint256(part.collateralAmount)) - int256(share) - int256(v.closingFeeCollateral);
    }

    /// Only the price loss goes to the vault, without what it already got, and never more than the position has.
    function lossToVault(Trade memory t, DecreasePositionSizeValues memory v) private view returns (int256) {
        TradeFeesData storage d = Store.state().tradeFeesData[t.user][t.index];
        uint256 already = uint256(d.manuallyRealizedNegativePnlCollateral) + d.alreadyTransferredNegativePnlCollateral;
        int256 pnl = v.partialRawPnlCollateral +
            (d.realizedPnlCollateral * int256(v.positionSizeCollateralDelta)) / int256(v.existingPositionSizeCollateral) +
            int256(Maths.ceilDiv(already * v.positionSizeCollateralDelta, v.existingPositionSizeCollateral));
        if (pnl >= 0) return 0;
        int256 floor = -int256(v.totalAvailableCollateralInDiamond);
        return pnl < floor ? floor : pnl;
    }

    function settleLeverageDecrease(Trade memory t, DecreasePositionSizeValues memory v, uint64 price) private {
        Settlement.realizePnl(t, v.pnlToRealizeCollateral);
        if (v.collateralSentToTrader < 0) {
            TradeFeesData storage d = Store.state().tradeFeesData[t.user][t.index];
            d.alreadyTransferredNegativePnlCollateral += uint128(uint256(-v.collateralSentToTrader));
        }
        Settlement.chargeFee(t.user, t.index, v.closingFeeCollateral, price);
    }

    function settleCollateralDecrease(Trade memory t, DecreasePositionSizeValues memory v) private {
        Holding.downscale(t, v.positionSizeCollateralDelta, v.existingPositionSizeCollateral, v.newCollateralAmount);
        Store.state().uiRealizedPnl[t.user][t.index].realizedTradingFeesCollateral += uint128(v.closingFeeCollateral);
    }
}
