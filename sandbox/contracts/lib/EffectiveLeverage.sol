// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";
import {Maths} from "./Maths.sol";
import {Fees} from "./Fees.sol";
import {Holding} from "./Holding.sol";
import {Impact} from "./Impact.sol";

/// Leverage on what the position is worth now, after the fees of closing it.
library EffectiveLeverage {
    function compute(Trade memory t, uint256 openPrice, uint256 collateral, uint256 leverage, uint64 price, uint256 additionalFee)
        internal
        view
        returns (uint256)
    {
        Trade memory changed = abi.decode(abi.encode(t), (Trade));
        changed.openPrice = uint64(openPrice);
        changed.collateralAmount = uint120(collateral);
        changed.leverage = uint24(leverage);
        uint256 size = Maths.positionSizeOf(changed);
        TradePriceImpact memory impact = Impact.closing(changed, price, size, price);
        int256 pnlP = Maths.pnlPercent(openPrice, impact.priceAfterImpact, t.long, leverage);
        uint256 value = Holding.value(changed, pnlP, Fees.totalOf(changed, size) + additionalFee, price);
        if (value == 0) return type(uint24).max;
        return Maths.min((((size * price) / openPrice) * 1e3) / value, type(uint24).max);
    }
}
