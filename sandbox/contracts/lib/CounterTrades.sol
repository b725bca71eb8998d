// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";
import {Maths} from "./Maths.sol";
import {Markets} from "./Markets.sol";

/// A counter trade may only reduce the skew; what goes beyond it is cut off and returned.
library CounterTrades {
    function check(Trade memory t, uint256 size, uint64 price) internal view returns (bool valid, uint256 excess) {
        int256 pd = int256(uint256(Markets.collateral(t.collateralIndex).precisionDelta));
        int256 skew = (Markets.skewCollateral(t.collateralIndex, t.pairIndex, price) * 1e8) / pd;
        if (skew == 0 || (skew > 0) == t.long) return (false, 0);
        uint256 room = Maths.abs(skew);
        return (true, size > room ? size - room : 0);
    }

    function cut(Trade memory t, uint256 size, uint64 price) internal view returns (bool refused, uint256 returned, uint120 collateral) {
        (bool valid, uint256 excess) = check(t, size, price);
        collateral = t.collateralAmount;
        if (!valid) return (true, 0, collateral);
        returned = Maths.ceilDiv(excess * 1e3, t.leverage);
        collateral -= uint120(returned);
        refused = collateral < Markets.minOpeningCollateral(t.collateralIndex, t.pairIndex);
    }
}
