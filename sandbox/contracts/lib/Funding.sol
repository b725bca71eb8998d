// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";
import "./Constants.sol";
import {Store} from "./Store.sol";
import {Maths} from "./Maths.sol";
import {Markets} from "./Markets.sol";
import {Events} from "./Events.sol";

/// Accumulators of funding and borrowing per (collateral, pair).
library Funding {
    int256 private constant YEAR = 365 days;
    uint256 private constant WHOLE = 1e20;
    uint256 private constant APR_MULTIPLIER_CAP = 100 * WHOLE;

    function s() private pure returns (Store.Layout storage) {
        return Store.state();
    }

    function pendingBorrowing(uint8 index, uint16 pair, uint64 price) internal view returns (uint128) {
        PairBorrowingFeeData storage d = s().borrowingData[index][pair];
        uint256 elapsed = block.timestamp - d.lastBorrowingUpdateTs;
        return d.accBorrowingFeeP + uint128(uint256(s().borrowingParams[index][pair].borrowingRatePerSecondP) * elapsed * price);
    }

    function storeBorrowing(uint8 index, uint16 pair, uint64 price) internal returns (uint128 acc) {
        PairBorrowingFeeData storage d = s().borrowingData[index][pair];
        acc = pendingBorrowing(index, pair, price);
        if (d.lastBorrowingUpdateTs == block.timestamp) return acc;
        d.accBorrowingFeeP = acc;
        d.lastBorrowingUpdateTs = uint32(block.timestamp);
        emit Events.PendingAccBorrowingFeesStored(index, pair, d);
    }

    function storeFunding(uint8 index, uint16 pair, uint64 price) internal returns (int128 accLong, int128 accShort) {
        PairFundingFeeData storage d = s().fundingData[index][pair];
        int56 rate;
        (accLong, accShort, rate) = pendingFunding(index, pair, price);
        if (d.lastFundingUpdateTs == block.timestamp) return (accLong, accShort);
        d.accFundingFeeLongP = accLong;
        d.accFundingFeeShortP = accShort;
        d.lastFundingRatePerSecondP = rate;
        d.lastFundingUpdateTs = uint32(block.timestamp);
        emit Events.PendingAccFundingFeesStored(index, pair, d);
    }

    struct Step {
        int256 last;
        int256 average;
        int256 rate;
        int256 velocity;
        int256 elapsed;
        int256 price;
    }

    function pendingFunding(uint8 index, uint16 pair, uint64 price) internal view returns (int128, int128, int56) {
        FundingFeeParams memory p = s().fundingParams[index][pair];
        PairFundingFeeData memory d = s().fundingData[index][pair];
        if (!p.fundingFeesEnabled) return (d.accFundingFeeLongP, d.accFundingFeeShortP, d.lastFundingRatePerSecondP);
        PairOiToken memory oi = s().oiToken[index][pair];
        Step memory v;
        v.last = d.lastFundingRatePerSecondP;
        v.elapsed = int256(block.timestamp - d.lastFundingUpdateTs);
        v.price = int256(uint256(price));
        v.velocity = velocityPerYear(p, index, pair, price);
        (v.average, v.rate) = averageRate(v.last, int256(uint256(p.absoluteRatePerSecondCap)) * 1e8, v.velocity, v.elapsed);
        if (p.aprMultiplierEnabled && ((v.rate > 0 && v.last < 0) || (v.rate < 0 && v.last > 0))) {
            int256 toZero = (-v.last * YEAR) / v.velocity / 1e8;
            if (toZero < 0) revert BelowMin();
            accrue(d, v.last / 2, toZero, v.price, oi, true);
            accrue(d, v.rate / 2, v.elapsed - toZero, v.price, oi, true);
        } else {
            accrue(d, v.average, v.elapsed, v.price, oi, p.aprMultiplierEnabled);
        }
        return (d.accFundingFeeLongP, d.accFundingFeeShortP, int56(v.rate));
    }

    function accrue(PairFundingFeeData memory d, int256 rate, int256 elapsed, int256 price, PairOiToken memory oi, bool aprMultiplier)
        private
        pure
    {
        int256 delta = (rate * elapsed * price) / 1e8;
        (uint256 onLong, uint256 onShort) = multipliers(rate, oi.oiLongToken, oi.oiShortToken, aprMultiplier);
        d.accFundingFeeLongP += int128((delta * int256(onLong)) / int256(WHOLE));
        d.accFundingFeeShortP -= int128((delta * int256(onShort)) / int256(WHOLE));
    }

    /// An empty side neither pays nor earns; the earning side may share what the paying side pays.
    function multipliers(int256 rate, uint256 oiLong, uint256 oiShort, bool enabled) private pure returns (uint256 l, uint256 r) {
        if (rate == 0) return (WHOLE, WHOLE);
        l = oiLong == 0 ? 0 : enabled && rate < 0 ? Maths.min((oiShort * WHOLE) / oiLong, APR_MULTIPLIER_CAP) : WHOLE;
        r = oiShort == 0 ? 0 : enabled && rate > 0 ? Maths.min((oiLong * WHOLE) / oiShort, APR_MULTIPLIER_CAP) : WHOLE;
    }

    function velocityPerYear(FundingFeeParams memory p, uint8 index, uint16 pair, uint64 price) private view returns (int256) {
        int256 net = Markets.skewToken(index, pair);
        if (net == 0) return 0;
        int256 usd = (Markets.skewCollateral(index, pair, price) * int256(Markets.priceUsd(index))) / 1e8;
        if (Maths.abs(usd) < uint256(p.thetaThresholdUsd) * 1e10) return 0;
        uint256 raw = (Maths.abs(net) * p.skewCoefficientPerYear) / 1e34;
        int256 capped = int256(Maths.min(raw, uint256(p.absoluteVelocityPerYearCap) * 1e3));
        return net < 0 ? -capped : capped;
    }

    /// Trapezoid from the last rate to the current one; time spent at the cap counts at the cap.
    function averageRate(int256 last, int256 cap, int256 velocity, int256 elapsed) private pure returns (int256 average, int256 rate) {
        if (cap == 0) return (0, 0);
        if (velocity == 0 || elapsed == 0) return (last, last);
        int256 limit = velocity < 0 ? -cap : cap;
        if (limit == last) return (limit, limit);
        int256 toLimit = ((limit - last) * YEAR) / velocity / 1e8;
        if (toLimit < 0) toLimit = 0;
        if (elapsed > toLimit) {
            rate = limit;
            average = (((last + limit) / 2) * toLimit + limit * (elapsed - toLimit)) / elapsed;
        } else {
            rate = last + (elapsed * velocity * 1e8) / YEAR;
            average = (last + rate) / 2;
        }
    }
}
