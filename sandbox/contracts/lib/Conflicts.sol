// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";
import "./Constants.sol";
import {Store} from "./Store.sol";

/// One pending market action per trade, however old it is.
library Conflicts {
    function check(address user, uint32 index) internal view {
        uint8[5] memory types = [MARKET_CLOSE, UPDATE_LEVERAGE, MARKET_PARTIAL_OPEN, MARKET_PARTIAL_CLOSE, PNL_WITHDRAWAL];
        for (uint256 i; i < types.length; ++i) {
            if (Store.state().tradePendingOrderBlock[user][index][types[i]] > 0) revert ConflictingPendingOrder(types[i]);
        }
    }

    function isMarket(uint8 orderType) internal pure returns (bool) {
        return orderType <= MARKET_CLOSE || (orderType >= UPDATE_LEVERAGE && orderType <= PNL_WITHDRAWAL);
    }
}
