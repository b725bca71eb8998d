// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "../lib/Types.sol";
import {Store} from "../lib/Store.sol";
import {Access} from "../lib/Access.sol";
import {Routing} from "../lib/Routing.sol";

/// Acting for a trader, and several calls in one.
contract DelegationFacet is Access {
    uint256 private constant MAX_CALLS = 20;

    function setTradingDelegate(address delegate) external {
        if (delegate == address(0)) revert ZeroAddress();
        Store.state().delegates[msg.sender] = delegate;
    }

    function removeTradingDelegate() external {
        delete Store.state().delegates[msg.sender];
    }

    function getTradingDelegate(address trader) external view returns (address) {
        return Store.state().delegates[trader];
    }

    function delegatedTradingAction(address trader, bytes calldata callData) external notDelegated returns (bytes memory) {
        Store.Layout storage s = Store.state();
        if (s.delegates[trader] != msg.sender) revert DelegateNotApproved();
        s.senderOverride = trader;
        bytes memory answer = inner(callData);
        s.senderOverride = address(0);
        return answer;
    }

    function multicall(bytes[] calldata data) external returns (bytes[] memory results) {
        if (data.length > MAX_CALLS) revert AboveMax();
        results = new bytes[](data.length);
        for (uint256 i; i < data.length; ++i) results[i] = inner(data[i]);
    }

    /// What is no error the caller could read (less than a selector) reaches it as an empty revert.
    function inner(bytes calldata data) private returns (bytes memory) {
        (bool ok, bytes memory answer) = address(this).delegatecall(data);
        if (!ok && answer.length < 4) revert();
        if (!ok) Routing.rethrow(answer);
        return answer;
    }
}
