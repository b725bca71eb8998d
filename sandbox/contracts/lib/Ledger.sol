// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";
import "./Constants.sol";
import {Store} from "./Store.sol";
import {Maths} from "./Maths.sol";
import {Markets} from "./Markets.sol";
import {Impact} from "./Impact.sol";
import {Holding} from "./Holding.sol";
import {Events} from "./Events.sol";

/// The books: trades, resting orders and open interest. Indices are handed out here and never reused.
library Ledger {
    function s() private pure returns (Store.Layout storage) {
        return Store.state();
    }

    function remember(address user) internal {
        if (s().traderStored[user]) return;
        s().traderStored[user] = true;
        s().traders.push(user);
    }

    function validate(Trade memory t) internal view {
        if (!Markets.isListed(t.pairIndex)) revert TradePairNotListed();
        if (t.leverage == 0 || t.collateralAmount == 0) revert TradePositionSizeZero();
        if (!s().collaterals[t.collateralIndex].isActive) revert InvalidCollateralIndex();
        validatePrices(t.long, t.openPrice, t.tp, t.sl);
    }

    function validatePrices(bool long, uint64 openPrice, uint64 tp, uint64 sl) internal pure {
        if (openPrice == 0) revert TradeOpenPriceZero();
        if (tp != 0 && (long ? tp <= openPrice : tp >= openPrice)) revert TradeTpInvalid();
        if (sl != 0 && (long ? sl >= openPrice : sl <= openPrice)) revert TradeSlInvalid();
    }

    function clampedSl(Trade memory t, GroupLiquidationParams memory params, uint64 sl) internal view returns (uint64) {
        uint256 threshold = Maths.liqThresholdP(params, t.leverage);
        uint256 feeP = Markets.feeGroup(t.pairIndex).totalPositionSizeFeeP;
        return Maths.clampSl(t.openPrice, t.leverage, sl, t.long, threshold, feeP);
    }

    /// Stores a trade or a resting order under the next index.
    function storeTrade(Trade memory t, uint16 maxSlippageP, uint64 price) internal returns (Trade memory) {
        validate(t);
        if (t.tradeType != TYPE_TRADE && maxSlippageP == 0) revert MaxSlippageZero();
        GroupLiquidationParams memory params = Markets.liquidationParams(t.pairIndex);
        Counter storage counter = s().counters[t.user][COUNTER_TRADE];
        t.index = counter.currentIndex++;
        counter.openCount++;
        t.isOpen = true;
        t.sl = clampedSl(t, params, t.sl);
        TradeInfo memory info;
        info.createdBlock = uint32(block.number);
        info.tpLastUpdatedBlock = info.createdBlock;
        info.slLastUpdatedBlock = info.createdBlock;
        info.lastPosIncreaseBlock = info.createdBlock;
        info.maxSlippageP = maxSlippageP;
        info.contractsVersion = VERSION_V10;
        s().trades[t.user][t.index] = t;
        s().tradeInfos[t.user][t.index] = info;
        s().tradeLiquidationParams[t.user][t.index] = params;
        remember(t.user);
        if (t.tradeType == TYPE_TRADE) moveOi(t, Maths.positionSizeOf(t), t.positionSizeToken, true, false, price);
        emit Events.TradeStored(t.user, t.index, t, info, params);
        return t;
    }

    function closeTrade(Trade memory t, bool isPnlPositive, uint64 price) internal {
        markClosed(t);
        Holding.realize(t, price);
        moveOi(t, Maths.positionSizeOf(t), t.positionSizeToken, false, isPnlPositive, price);
        emit Events.TradeClosed(t.user, t.index, isPnlPositive);
    }

    /// A resting order holds no open interest and owes no fees.
    function closeOrder(Trade memory t) internal {
        markClosed(t);
        emit Events.TradeClosed(t.user, t.index, false);
    }

    function markClosed(Trade memory t) private {
        if (!t.isOpen) revert DoesntExist();
        s().trades[t.user][t.index].isOpen = false;
        s().counters[t.user][COUNTER_TRADE].openCount--;
    }

    struct Change {
        uint120 collateral;
        uint24 leverage;
        uint64 openPrice;
        uint8 orderType;
        uint256 sizeToken;
        bool isPnlPositive;
        uint64 price;
    }

    /// A leverage update moves no open interest: its rounding dust would otherwise pile up there.
    function changePosition(Trade memory before, Change memory c) internal {
        Trade storage t = s().trades[before.user][before.index];
        TradeInfo storage info = s().tradeInfos[before.user][before.index];
        if (c.collateral == 0 || c.leverage == 0) revert TradePositionSizeZero();
        if (c.openPrice == 0) revert TradeOpenPriceZero();
        if (c.orderType != UPDATE_LEVERAGE) {
            bool open = c.orderType == MARKET_PARTIAL_OPEN;
            uint256 was = Maths.positionSizeOf(before);
            uint256 becomes = Maths.positionSize(c.collateral, c.leverage);
            Holding.realize(before, c.price);
            moveOi(before, open ? becomes - was : was - becomes, c.sizeToken, open, c.isPnlPositive, c.price);
            t.positionSizeToken = uint160(open ? before.positionSizeToken + c.sizeToken : before.positionSizeToken - c.sizeToken);
            if (open) {
                s().tradeLiquidationParams[before.user][before.index] = Markets.liquidationParams(before.pairIndex);
                info.lastPosIncreaseBlock = uint32(block.number);
            }
        }
        t.collateralAmount = c.collateral;
        t.leverage = c.leverage;
        t.openPrice = c.openPrice;
        t.sl = clampedSl(t, s().tradeLiquidationParams[before.user][before.index], t.sl);
        info.createdBlock = uint32(block.number);
        info.tpLastUpdatedBlock = uint32(block.number);
        info.slLastUpdatedBlock = uint32(block.number);
        emit Events.TradePositionUpdated(
            before.user, before.index, c.collateral, c.leverage, c.openPrice, t.sl, t.positionSizeToken, c.orderType, c.isPnlPositive
        );
    }

    function moveOi(Trade memory t, uint256 size, uint256 sizeToken, bool open, bool isPnlPositive, uint64 price) private {
        Holding.resetAccumulators(t, price);
        moveGroupOi(t, size, open);
        addVolume(t, size, open, isPnlPositive);
        if (s().tradeInfos[t.user][t.index].contractsVersion < VERSION_V10) return moveOldOi(t, size, open);
        PairOiCollateral storage oi = s().oiCollateral[t.collateralIndex][t.pairIndex];
        PairOiToken storage oiToken = s().oiToken[t.collateralIndex][t.pairIndex];
        if (t.long) {
            oi.oiLongCollateral = moved(oi.oiLongCollateral, size, open);
            oiToken.oiLongToken = moved(oiToken.oiLongToken, sizeToken, open);
        } else {
            oi.oiShortCollateral = moved(oi.oiShortCollateral, size, open);
            oiToken.oiShortToken = moved(oiToken.oiShortToken, sizeToken, open);
        }
        emit Events.PairOiAfterV10Updated(t.collateralIndex, t.pairIndex, size, sizeToken, open, t.long, oi, oiToken);
    }

    /// Trades of older releases were never counted in tokens: theirs is open interest of its own with ten decimals, which only shrinks.
    function moveOldOi(Trade memory t, uint256 size, bool open) internal {
        uint256 precision = Markets.collateral(t.collateralIndex).precision;
        if (precision > P10) size -= size % (precision / P10);
        PairOiCollateral storage oi = s().oiBeforeV10[t.collateralIndex][t.pairIndex];
        if (t.long) oi.oiLongCollateral = moved(oi.oiLongCollateral, size, open);
        else oi.oiShortCollateral = moved(oi.oiShortCollateral, size, open);
    }

    /// As if an older release had opened the trade: it has no tokens, and its open interest is counted with the old.
    function makeOld(Trade storage t) internal {
        uint256 size = Maths.positionSizeOf(t);
        PairOiCollateral storage oi = s().oiCollateral[t.collateralIndex][t.pairIndex];
        PairOiToken storage oiToken = s().oiToken[t.collateralIndex][t.pairIndex];
        if (t.long) {
            oi.oiLongCollateral = moved(oi.oiLongCollateral, size, false);
            oiToken.oiLongToken = moved(oiToken.oiLongToken, t.positionSizeToken, false);
        } else {
            oi.oiShortCollateral = moved(oi.oiShortCollateral, size, false);
            oiToken.oiShortToken = moved(oiToken.oiShortToken, t.positionSizeToken, false);
        }
        moveOldOi(t, size, true);
        emit Events.PairOiAfterV10Updated(t.collateralIndex, t.pairIndex, size, t.positionSizeToken, false, t.long, oi, oiToken);
        t.positionSizeToken = 0;
    }

    function moved(uint256 from, uint256 by, bool up) private pure returns (uint128) {
        return uint128(up ? from + by : from > by ? from - by : 0);
    }

    function moveGroupOi(Trade memory t, uint256 size, bool open) private {
        OpenInterest storage oi = s().borrowingGroupOi[t.collateralIndex][s().borrowingGroupOf[t.collateralIndex][t.pairIndex]];
        uint256 delta = (size * P10) / Markets.collateral(t.collateralIndex).precision;
        if (t.long) oi.long = uint72(moved(oi.long, delta, open));
        else oi.short = uint72(moved(oi.short, delta, open));
    }

    function addVolume(Trade memory t, uint256 size, bool open, bool isPnlPositive) private {
        uint256 usd = Markets.toUsd(t.collateralIndex, size);
        if (!open && !isPnlPositive) usd = (usd * s().negPnlCumulVolMultiplier) / P10;
        PairOi storage window = s().windows[s().oiWindowsSettings.windowsDuration][t.pairIndex][Impact.windowId(block.timestamp)];
        if (Maths.isUp(t.long, open)) window.oiLongUsd += uint128(usd);
        else window.oiShortUsd += uint128(usd);
        TradeInfo storage info = s().tradeInfos[t.user][t.index];
        info.lastOiUpdateTs = uint48(block.timestamp);
        info.collateralPriceUsd = uint48(Markets.priceUsd(t.collateralIndex));
    }
}
