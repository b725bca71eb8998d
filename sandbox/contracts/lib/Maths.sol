// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";
import "./Constants.sol";

/// Integer arithmetic of the protocol; every division truncates toward zero unless it says otherwise.
library Maths {
    function abs(int256 x) internal pure returns (uint256) {
        return x < 0 ? uint256(-x) : uint256(x);
    }

    function min(uint256 a, uint256 b) internal pure returns (uint256) {
        return a < b ? a : b;
    }

    function max(uint256 a, uint256 b) internal pure returns (uint256) {
        return a > b ? a : b;
    }

    function ceilDiv(uint256 a, uint256 b) internal pure returns (uint256) {
        return a == 0 ? 0 : (a - 1) / b + 1;
    }

    function positionSize(uint256 collateral, uint256 leverage) internal pure returns (uint256) {
        return (collateral * leverage) / 1e3;
    }

    function positionSizeOf(Trade memory t) internal pure returns (uint256) {
        return positionSize(t.collateralAmount, t.leverage);
    }

    /// True when executing pushes the price up.
    function isUp(bool long, bool open) internal pure returns (bool) {
        return long == open;
    }

    function pnlPercent(uint256 openPrice, uint256 price, bool long, uint256 leverage) internal pure returns (int256 p) {
        if (openPrice == 0) return 0;
        int256 move = long ? int256(price) - int256(openPrice) : int256(openPrice) - int256(price);
        p = (move * int256(HUNDRED_P) * int256(leverage)) / int256(openPrice) / 1e3;
        if (p < -int256(HUNDRED_P)) p = -int256(HUNDRED_P);
    }

    function priceAfterImpact(uint256 price, int256 impactP) internal pure returns (uint64) {
        int256 moved = int256(price) + (int256(price) * impactP) / int256(P10) / 100;
        if (moved <= 0) revert BelowMin();
        if (moved > int256(uint256(type(uint64).max))) revert AboveMax();
        return uint64(uint256(moved));
    }

    function slippageOf(uint256 expectedPrice, uint256 maxSlippageP) internal pure returns (uint256) {
        return (expectedPrice * maxSlippageP) / 100 / 1e3;
    }

    /// Opening: a long must not pay more, a short must not get less. Closing is the mirror image.
    function exceedsSlippage(uint256 price, uint256 expected, uint256 maxSlippageP, bool up) internal pure returns (bool) {
        uint256 slippage = slippageOf(expected, maxSlippageP);
        return up ? price > expected + slippage : price < expected - slippage;
    }

    function liqThresholdP(GroupLiquidationParams memory p, uint256 leverage) internal pure returns (uint256) {
        if (p.maxLiqSpreadP == 0) return LEGACY_LIQ_THRESHOLD_P;
        if (leverage <= p.startLeverage) return p.startLiqThresholdP;
        if (leverage >= p.endLeverage) return p.endLiqThresholdP;
        uint256 fall = uint256(p.startLiqThresholdP) - p.endLiqThresholdP;
        return p.startLiqThresholdP - ((leverage - p.startLeverage) * fall) / (uint256(p.endLeverage) - p.startLeverage);
    }

    /// Value of a position; `fees` may be negative when the position earned more than it owes.
    function tradeValue(uint256 collateral, int256 pnlP, int256 fees, uint256 precisionDelta) internal pure returns (uint256) {
        int256 scaled = int256(collateral * precisionDelta);
        int256 value = (scaled + (scaled * pnlP) / int256(P10) / 100) / int256(precisionDelta) - fees;
        return value > 0 ? uint256(value) : 0;
    }

    /// A stop loss further away than liquidation allows is pulled in, or dropped when no room is left.
    function clampSl(uint256 openPrice, uint256 leverage, uint64 sl, bool long, uint256 thresholdP, uint256 feeP)
        internal
        pure
        returns (uint64)
    {
        if (sl == 0) return 0;
        uint256 buffer = (2 * feeP * leverage) / 1e3 + SL_BUFFER_P;
        if (buffer >= thresholdP) return 0;
        uint256 maxLossP = thresholdP - buffer;
        if (pnlPercent(openPrice, sl, long, leverage) >= -int256(maxLossP)) return sl;
        uint256 distance = (openPrice * maxLossP * 1e3) / leverage / 100 / P10;
        if (long) return distance < openPrice ? uint64(openPrice - distance) : 0;
        return uint64(min(openPrice + distance, type(uint64).max));
    }

    function bandAt(uint256 slot1, uint256 slot2, uint256 i) internal pure returns (uint256) {
        return i < BANDS_IN_SLOT1 ? (slot1 >> (32 + 16 * i)) & 0xffff : (slot2 >> (16 * (i - BANDS_IN_SLOT1))) & 0xffff;
    }

    struct Depth {
        uint256 slot1;
        uint256 slot2;
        uint256 offsets1;
        uint256 offsets2;
    }

    /// Average offset (1e10 %) paid by the first `size` USD (1e18) of one side of the book.
    function averageOffsetP(Depth memory d, uint256 size) internal pure returns (uint256) {
        uint256 total = uint256(uint32(d.slot1)) * 1e18;
        if (total == 0 || size == 0) return 0;
        uint256 left = size;
        uint256 weighted;
        uint256 below;
        uint256 low;
        for (uint256 i; i < BANDS && left != 0; ++i) {
            uint256 share = bandAt(d.slot1, d.slot2, i);
            uint256 high = bandAt(d.offsets1, d.offsets2, i);
            uint256 top = (share * total) / 1e4;
            if (top > below) {
                uint256 available = top - below;
                uint256 used = share == 1e4 || left <= available ? left : available;
                left -= used;
                weighted += (low * 1e6 + ((high - low) * 1e6 * used) / (2 * available)) * used;
            }
            below = top;
            low = high;
        }
        return weighted / size;
    }

    /// Average over the trade: what the volume before it paid and what it would pay with the trade, halved so that splitting gains nothing.
    function depthImpactP(Depth memory d, uint256 volumeBefore, uint256 size, uint256 factor) internal pure returns (uint256) {
        uint256 average = (averageOffsetP(d, volumeBefore) + averageOffsetP(d, volumeBefore + size)) / 2;
        return (average * factor) / P10;
    }
}
