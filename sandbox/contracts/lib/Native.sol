// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";
import "./Constants.sol";
import {Store} from "./Store.sol";
import {Markets} from "./Markets.sol";

interface IWrapped {
    function deposit() external payable;
    function withdraw(uint256 amount) external;
}

/// Collateral sent as native currency is wrapped on arrival; what is paid out is unwrapped again.
library Native {
    function wrap(uint8 index) internal returns (uint120) {
        if (msg.value == 0) revert ZeroValue();
        if (msg.value > type(uint120).max) revert Overflow();
        address token = Markets.collateral(index).collateral;
        if (token != Store.state().wrappedNative) revert NotWrappedNativeToken();
        IWrapped(token).deposit{value: msg.value}();
        return uint120(msg.value);
    }

    /// False, and nothing happened, where the token has no native currency behind it or the receiver refuses it.
    function pay(address token, address to, uint256 amount) internal returns (bool ok) {
        try IWrapped(token).withdraw(amount) {
            (ok, ) = to.call{value: amount, gas: NATIVE_TRANSFER_GAS}("");
            if (!ok) IWrapped(token).deposit{value: amount}();
        } catch {}
    }
}
