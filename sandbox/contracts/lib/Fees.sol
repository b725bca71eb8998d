// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";
import "./Constants.sol";
import {Store} from "./Store.sol";
import {Maths} from "./Maths.sol";
import {Markets} from "./Markets.sol";
import {Events} from "./Events.sol";
import {Referrals} from "./Referrals.sol";

/// Trading fees, their minimum, and the discount a trader's volume of the last thirty days earns.
library Fees {
    function s() private pure returns (Store.Layout storage) {
        return Store.state();
    }

    function undiscounted(uint8 index, uint16 pair, uint256 size, bool isCounterTrade) internal view returns (uint256) {
        uint256 multiplier = isCounterTrade ? Markets.counterTradeFeeMultiplier(pair) : 1e3;
        uint256 floor = Markets.fromUsd(index, Markets.minPositionUsd(pair)) * 1e3;
        return (Maths.max(size * multiplier, floor) * Markets.feeGroup(pair).totalPositionSizeFeeP) / P10 / 100 / 1e3;
    }

    function total(uint8 index, address trader, uint16 pair, uint256 size, bool isCounterTrade) internal view returns (uint256) {
        uint256 fee = undiscounted(index, pair, size, isCounterTrade);
        PairFlags storage flags = s().pairFlags[index][pair];
        bool undiscountedPair = isCounterTrade ? flags.skipFeeTierMultiplierCounterTrade : flags.skipFeeTierMultiplier;
        return undiscountedPair ? fee : discounted(trader, fee);
    }

    function totalOf(Trade memory t, uint256 size) internal view returns (uint256) {
        return total(t.collateralIndex, t.user, t.pairIndex, size, t.isCounterTrade);
    }

    function liquidation(Trade memory t) internal view returns (uint256) {
        return (uint256(t.collateralAmount) * Markets.feeGroup(t.pairIndex).totalLiqCollateralFeeP) / P10 / 100;
    }

    /// What a cancelled action costs: the governance share of half the minimum fee.
    function minGov(uint8 index, address trader, uint16 pair) internal view returns (uint256) {
        return ((total(index, trader, pair, 0, false) / 2) * s().tradeFeeParams.govFeeP) / 1e3 / 100;
    }

    function minGovOf(Trade memory t) internal view returns (uint256) {
        return minGov(t.collateralIndex, t.user, t.pairIndex);
    }

    function discounted(address trader, uint256 fee) internal view returns (uint256) {
        uint32 multiplier = s().traderDaily[trader][today()].feeMultiplierCache;
        return multiplier == 0 || s().enrollment[trader].status == 1 ? fee : (fee * multiplier) / 1e3;
    }

    function process(Trade memory t, uint256 size, uint8 orderType, uint256 fee) internal {
        Referrals.reward(t, size, fee);
        addVolume(t, size);
        emit Events.FeesProcessed(t.collateralIndex, t.user, size, orderType, fee);
    }

    function today() internal view returns (uint32) {
        return uint32(block.timestamp / 1 days);
    }

    /// Before any fee is computed the day's multiplier is settled from the volume of the thirty days before today.
    function refreshTier(Trade memory t) internal {
        addVolume(t, 0);
    }

    function addVolume(Trade memory t, uint256 size) private {
        if (s().enrollment[t.user].status == 1) return;
        settleDay(t.user);
        if (size == 0) return;
        uint256 multiplier = s().groupVolumeMultiplier[s().pairs[t.pairIndex].feeIndex];
        uint256 points = (Markets.toUsd(t.collateralIndex, size) * (multiplier == 0 ? 1e3 : multiplier)) / 1e3;
        s().traderDaily[t.user][today()].points += uint224(points);
    }

    function settleDay(address trader) private {
        TraderInfo storage info = s().traderInfo[trader];
        uint32 day = today();
        uint32 last = info.lastDayUpdated;
        if (last == day) return;
        uint256 trailing = last == 0 ? 0 : info.trailingPoints + s().traderDaily[trader][last].points;
        if (last != 0 && day - last > MAX_FEE_TIER_DAYS) trailing = 0;
        else if (last > MAX_FEE_TIER_DAYS) {
            for (uint32 d = last - uint32(MAX_FEE_TIER_DAYS); d < day - MAX_FEE_TIER_DAYS; ++d) {
                uint256 expired = s().traderDaily[trader][d].points;
                trailing = trailing > expired ? trailing - expired : 0;
            }
        }
        info.lastDayUpdated = day;
        info.trailingPoints = uint224(trailing);
        s().traderDaily[trader][day].feeMultiplierCache = multiplierFor(trailing);
    }

    function multiplierFor(uint256 trailing) private view returns (uint32) {
        FeeTier[] storage tiers = s().feeTiers;
        for (uint256 i = tiers.length; i > 0; --i) {
            if (trailing >= uint256(tiers[i - 1].pointsThreshold) * 1e18) return tiers[i - 1].feeMultiplier;
        }
        return 1e3;
    }
}
