// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";
import "./Constants.sol";
import {Store} from "./Store.sol";
import {Maths} from "./Maths.sol";

/// What the protocol knows about its collaterals, pairs, groups and open interest.
library Markets {
    function s() private pure returns (Store.Layout storage) {
        return Store.state();
    }

    /// An index nobody registered fails without data, as a call to a missing price feed does.
    function collateral(uint8 index) internal view returns (Collateral storage c) {
        c = s().collaterals[index];
        require(c.precision != 0);
    }

    function priceUsd(uint8 index) internal view returns (uint256) {
        collateral(index);
        return s().collateralPriceUsd[index];
    }

    function toUsd(uint8 index, uint256 amount) internal view returns (uint256) {
        return (amount * collateral(index).precisionDelta * priceUsd(index)) / 1e8;
    }

    function fromUsd(uint8 index, uint256 usd) internal view returns (uint256) {
        return (usd * 1e8) / priceUsd(index) / collateral(index).precisionDelta;
    }

    function isListed(uint256 pair) internal view returns (bool) {
        return pair < s().pairsCount && bytes(s().pairs[pair].from).length != 0;
    }

    function feeGroup(uint256 pair) internal view returns (FeeGroup storage) {
        return s().fees[s().pairs[pair].feeIndex];
    }

    function group(uint256 pair) internal view returns (Group storage) {
        return s().groups[s().pairs[pair].groupIndex];
    }

    function maxLeverage(uint256 pair) internal view returns (uint256) {
        uint256 custom = s().pairCustomMaxLeverage[pair];
        return custom > 0 ? custom : group(pair).maxLeverage;
    }

    function minPositionUsd(uint256 pair) internal view returns (uint256) {
        return uint256(feeGroup(pair).minPositionSizeUsd) * 1e15;
    }

    function minFeeUsd(uint256 pair) internal view returns (uint256) {
        return (minPositionUsd(pair) * feeGroup(pair).totalPositionSizeFeeP) / P10 / 100;
    }

    function minFeeCollateral(uint8 index, uint256 pair) internal view returns (uint256) {
        return fromUsd(index, minFeeUsd(pair));
    }

    function minOpeningCollateral(uint8 index, uint256 pair) internal view returns (uint256) {
        return 5 * minFeeCollateral(index, pair);
    }

    function spreadP(address trader, uint256 pair) internal view returns (uint256) {
        return s().pairs[pair].spreadP + uint256(s().userPriceImpact[trader][pair].fixedSpreadP) * 1e7;
    }

    function liquidationParams(uint256 pair) internal view returns (GroupLiquidationParams memory) {
        return s().groupLiquidationParams[s().pairs[pair].groupIndex];
    }

    function counterTradeFeeMultiplier(uint256 pair) internal view returns (uint256) {
        uint16 multiplier = s().counterTradeFeeRateMultiplier[pair];
        return multiplier > 0 ? multiplier : 1e3;
    }

    function skewToken(uint8 index, uint16 pair) internal view returns (int256) {
        PairOiToken storage oi = s().oiToken[index][pair];
        return int256(uint256(oi.oiLongToken)) - int256(uint256(oi.oiShortToken));
    }

    /// Skew valued at the current price, 1e10 collateral.
    function skewCollateral(uint8 index, uint16 pair, uint256 price) internal view returns (int256) {
        return (skewToken(index, pair) * int256(price)) / 1e18;
    }

    function maxOiCollateral(uint8 index, uint16 pair) internal view returns (uint256) {
        return (s().maxOi[index][pair] * collateral(index).precision) / P10;
    }

    function withinGroupOi(uint8 index, uint16 pair, bool long, uint256 size) internal view returns (bool) {
        uint16 groupIndex = s().borrowingGroupOf[index][pair];
        // Group 0 means that the pair is in none.
        if (groupIndex == 0) return true;
        OpenInterest storage oi = s().borrowingGroupOi[index][groupIndex];
        return oi.max == 0 || (long ? oi.long : oi.short) + (size * P10) / collateral(index).precision <= oi.max;
    }

    function withinExposureLimits(uint8 index, uint16 pair, bool long, uint256 size, uint256 price) internal view returns (bool) {
        PairOiToken storage oi = s().oiToken[index][pair];
        uint256 pd = collateral(index).precisionDelta;
        PairOiCollateral storage old = s().oiBeforeV10[index][pair];
        uint256 side = (uint256(long ? oi.oiLongToken : oi.oiShortToken) * price) / 1e10 / pd;
        side += long ? old.oiLongCollateral : old.oiShortCollateral;
        if (side + size > maxOiCollateral(index, pair)) return false;
        if (!withinGroupOi(index, pair, long, size)) return false;
        int256 skew = skewCollateral(index, pair, price);
        int256 delta = int256((size * pd) / 1e8);
        return withinSkew(skew, long ? skew + delta : skew - delta, s().pairGlobalParams[index][pair].maxSkewCollateral);
    }

    /// Above the cap only a shrinking skew passes, and it may not overshoot the cap on the other side.
    function withinSkew(int256 skew, int256 newSkew, uint256 cap) private pure returns (bool) {
        if (cap == 0 || Maths.abs(newSkew) <= cap) return true;
        return skew >= 0 ? newSkew < skew && -newSkew <= int256(cap) : newSkew > skew && newSkew <= int256(cap);
    }
}
