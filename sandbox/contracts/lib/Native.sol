// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";
import {Store} from "./Store.sol";
import {Markets} from "./Markets.sol";

interface IWrapped {
    function deposit() external payable;
}

/// Collateral sent as native currency: wrapped on arrival, from then on a token like any other.
library Native {
    function wrap(uint8 index) internal returns (uint120) {
        if (msg.value == 0) revert ZeroValue();
        if (msg.value > type(uint120).max) revert Overflow();
        address token = Markets.collateral(index).collateral;
        if (token != Store.state().wrappedNative) revert NotWrappedNativeToken();
        IWrapped(token).deposit{value: msg.value}();
        return uint120(msg.value);
    }
}
