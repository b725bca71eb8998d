// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";
import "./Constants.sol";
import {Store} from "./Store.sol";

/// Who may call, and on whose behalf.
abstract contract Access {
    modifier onlyOperator() {
        if (!Store.state().operators[msg.sender]) revert WrongAccess();
        _;
    }

    modifier notDelegated() {
        if (Store.state().senderOverride != address(0)) revert DelegatedActionNotAllowed();
        _;
    }

    modifier whenActivated() {
        requireActivated();
        _;
    }

    modifier whenNotPaused() {
        requireNotPaused();
        _;
    }

    modifier nonReentrant() {
        Store.Layout storage s = Store.state();
        if (s.locked) revert ReentrancyGuardReentrantCall();
        s.locked = true;
        _;
        s.locked = false;
    }

    function requireActivated() internal view {
        if (Store.state().tradingActivated != ACTIVATED) revert Paused();
    }

    function requireNotPaused() internal view {
        if (Store.state().tradingActivated == PAUSED) revert Paused();
    }

    /// Trading calls act for the delegating trader; everything else sees `msg.sender`, the agent.
    function sender() internal view returns (address) {
        address overridden = Store.state().senderOverride;
        return overridden == address(0) ? msg.sender : overridden;
    }
}
