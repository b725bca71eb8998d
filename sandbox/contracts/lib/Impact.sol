// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";
import "./Constants.sol";
import {Store} from "./Store.sol";
import {Maths} from "./Maths.sol";
import {Markets} from "./Markets.sol";
import {Fees} from "./Fees.sol";
import {Holding} from "./Holding.sol";

/// From the oracle's price to the execution price: half the spread, the volume impact of the depth bands, the skew impact.
library Impact {
    function s() private pure returns (Store.Layout storage) {
        return Store.state();
    }

    function windowId(uint256 ts) internal view returns (uint256) {
        return (ts - s().oiWindowsSettings.startTs) / s().oiWindowsSettings.windowsDuration;
    }

    /// USD volume (1e18) of one side over the active windows.
    function activeVolume(uint256 pair, bool long) internal view returns (uint256 volume) {
        OiWindowsSettings storage settings = s().oiWindowsSettings;
        if (settings.windowsCount == 0) return 0;
        uint256 current = windowId(block.timestamp);
        uint256 back = settings.windowsCount - 1;
        for (uint256 id = current > back ? current - back : 0; id <= current; ++id) {
            PairOi storage window = s().windows[settings.windowsDuration][pair][id];
            volume += long ? window.oiLongUsd : window.oiShortUsd;
        }
    }

    function isProtected(address trader, uint16 pair, bool pnlPositive, bool open, uint256 increaseBlock) private view returns (bool) {
        PairFactors storage f = s().pairFactors[pair];
        return
            pnlPositive &&
            !open &&
            f.protectionCloseFactor != 0 &&
            block.number <= increaseBlock + f.protectionCloseFactorBlocks &&
            !s().protectionCloseFactorWhitelist[trader];
    }

    function volumeP(address trader, uint16 pair, bool long, uint256 usd, bool pnlPositive, bool open, uint256 increaseBlock)
        internal
        view
        returns (int256)
    {
        PairFactors storage f = s().pairFactors[pair];
        bool protected_ = isProtected(trader, pair, pnlPositive, open, increaseBlock);
        if (open ? f.exemptOnOpen : f.exemptAfterProtectionCloseFactor && !protected_) return 0;
        bool up = Maths.isUp(long, open);
        Maths.Depth memory depth = depthOf(pair, up);
        if (depth.slot1 == 0 && depth.slot2 == 0) return 0;
        uint256 factor = protected_ ? f.protectionCloseFactor : P10;
        uint256 multiplier = s().userPriceImpact[trader][pair].cumulVolPriceImpactMultiplier;
        factor = (factor * (multiplier == 0 ? 1e3 : multiplier)) / 1e3;
        uint256 before = (activeVolume(pair, up) * (f.cumulativeFactor == 0 ? P10 : f.cumulativeFactor)) / P10;
        uint256 impact = Maths.depthImpactP(depth, before, usd, factor);
        return up ? int256(impact) : -int256(impact);
    }

    function depthOf(uint16 pair, bool up) private view returns (Maths.Depth memory) {
        PairDepthBands storage bands = s().depthBands[pair];
        return
            up
                ? Maths.Depth(bands.aboveSlot1, bands.aboveSlot2, s().bandsMapping1, s().bandsMapping2)
                : Maths.Depth(bands.belowSlot1, bands.belowSlot2, s().bandsMapping1, s().bandsMapping2);
    }

    function skewP(uint8 index, uint16 pair, bool long, uint256 size, bool open) internal view returns (int256) {
        uint256 depth = s().skewDepth[index][pair];
        if (depth == 0) return 0;
        int256 half = int256(size / 2);
        int256 net = Markets.skewToken(index, pair) + (Maths.isUp(long, open) ? half : -half);
        return ((net * int256(P10)) / int256(depth)) / 2;
    }

    /// The price triggers are compared with: the oracle's, moved by the standing skew.
    function marketPrice(Trade memory t, uint64 price) internal view returns (uint64) {
        return marketPriceIn(t.collateralIndex, t.pairIndex, price);
    }

    function marketPriceIn(uint8 index, uint16 pair, uint64 price) internal view returns (uint64) {
        return Maths.priceAfterImpact(price, skewP(index, pair, true, 0, true));
    }

    /// Inverse of `marketPrice`, rounded up.
    function oraclePrice(Trade memory t, uint256 price) internal view returns (uint64) {
        int256 whole = int256(HUNDRED_P) + skewP(t.collateralIndex, t.pairIndex, true, 0, true);
        return uint64(Maths.ceilDiv(price * HUNDRED_P, uint256(whole)));
    }

    function fixedSpreadP(Trade memory t, bool open) private view returns (int256) {
        int256 half = int256(Markets.spreadP(t.user, t.pairIndex) / 2);
        return Maths.isUp(t.long, open) ? half : -half;
    }

    function opening(Trade memory t, uint256 oracle, uint256 size) internal view returns (TradePriceImpact memory i) {
        i.fixedSpreadP = fixedSpreadP(t, true);
        i.cumulVolPriceImpactP = volumeP(t.user, t.pairIndex, t.long, Markets.toUsd(t.collateralIndex, size), false, true, 0);
        uint256 withoutSkew = Maths.priceAfterImpact(oracle, i.fixedSpreadP + i.cumulVolPriceImpactP);
        i.positionSizeToken = (size * Markets.collateral(t.collateralIndex).precisionDelta * 1e10) / withoutSkew;
        i.skewPriceImpactP = skewP(t.collateralIndex, t.pairIndex, t.long, i.positionSizeToken, true);
        finish(i, oracle);
    }

    /// A close is protected or not depending on its own result, so it is valued once without protection first.
    function closing(Trade memory t, uint256 oracle, uint256 size, uint64 current) internal view returns (TradePriceImpact memory i) {
        uint8 version = s().tradeInfos[t.user][t.index].contractsVersion;
        if (version < VERSION_V9_2) {
            i.priceAfterImpact = uint64(oracle);
            return i;
        }
        i.positionSizeToken = (size * t.positionSizeToken) / Maths.positionSizeOf(t);
        i.fixedSpreadP = fixedSpreadP(t, false);
        // Older trades are not part of the skew, so it does not move their price.
        if (version >= VERSION_V10) i.skewPriceImpactP = skewP(t.collateralIndex, t.pairIndex, t.long, i.positionSizeToken, false);
        addClosingVolume(i, t, oracle, size, false);
        addClosingVolume(i, t, oracle, size, isInProfit(t, i.priceAfterImpact, current));
    }

    function addClosingVolume(TradePriceImpact memory i, Trade memory t, uint256 oracle, uint256 size, bool inProfit) private view {
        uint256 increaseBlock = s().tradeInfos[t.user][t.index].lastPosIncreaseBlock;
        uint256 usd = Markets.toUsd(t.collateralIndex, size);
        i.cumulVolPriceImpactP = volumeP(t.user, t.pairIndex, t.long, usd, inProfit, false, increaseBlock);
        finish(i, oracle);
    }

    function isInProfit(Trade memory t, uint64 closePrice, uint64 current) private view returns (bool) {
        int256 pnlP = Maths.pnlPercent(t.openPrice, closePrice, t.long, t.leverage);
        return Holding.value(t, pnlP, Fees.totalOf(t, Maths.positionSizeOf(t)), current) > t.collateralAmount;
    }

    function finish(TradePriceImpact memory i, uint256 oracle) private pure {
        i.totalPriceImpactP = i.fixedSpreadP + i.cumulVolPriceImpactP + i.skewPriceImpactP;
        i.priceAfterImpact = Maths.priceAfterImpact(oracle, i.totalPriceImpactP);
    }

    /// Share of the collateral (1e10 %) lost at once to spread and volume impact.
    function openingLossP(TradePriceImpact memory i, uint256 leverage, bool long) internal pure returns (int256) {
        int256 impact = i.fixedSpreadP + i.cumulVolPriceImpactP;
        return ((long ? impact : -impact) * int256(leverage)) / 1e3;
    }
}
