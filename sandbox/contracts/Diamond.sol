// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./lib/Types.sol";
import {Store} from "./lib/Store.sol";
import {Routing} from "./lib/Routing.sol";

/// Routes every call to the facet that serves its selector. Its code is placed at the chain's real Diamond address, where no
/// constructor runs; `sandboxInit` takes its place and works once.
contract Diamond {
    function sandboxInit(address[] calldata operators, Facet[] calldata facets) external {
        Store.Layout storage s = Store.state();
        if (s.initialised) revert WrongAccess();
        s.initialised = true;
        for (uint256 i; i < operators.length; ++i) s.operators[operators[i]] = true;
        Routing.replace(facets);
    }

    /// Empty calldata is a no-op, also inside a delegated action.
    receive() external payable {}

    fallback() external payable {
        address facet = Store.state().facetOf[msg.sig];
        if (facet == address(0)) revert NotFound();
        assembly {
            calldatacopy(0, 0, calldatasize())
            let ok := delegatecall(gas(), facet, 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            switch ok
            case 0 {
                revert(0, returndatasize())
            }
            default {
                return(0, returndatasize())
            }
        }
    }
}
