// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";
import {Store} from "./Store.sol";

/// The table of selectors, and calls from one facet to another within it.
library Routing {
    function replace(Facet[] calldata facets) internal {
        Store.Layout storage s = Store.state();
        for (uint256 i; i < s.facetList.length; ++i) {
            address old = s.facetList[i];
            bytes4[] storage gone = s.selectorsOf[old];
            for (uint256 j; j < gone.length; ++j) delete s.facetOf[gone[j]];
            delete s.selectorsOf[old];
        }
        delete s.facetList;
        for (uint256 i; i < facets.length; ++i) {
            s.facetList.push(facets[i].facetAddress);
            s.selectorsOf[facets[i].facetAddress] = facets[i].functionSelectors;
            for (uint256 j; j < facets[i].functionSelectors.length; ++j) s.facetOf[facets[i].functionSelectors[j]] = facets[i].facetAddress;
        }
    }

    /// Runs a call of another facet in this context: `msg.sender` stays who called the Diamond.
    function forward(bytes memory data) internal returns (bytes memory) {
        (bool ok, bytes memory answer) = Store.state().facetOf[bytes4(data)].delegatecall(data);
        if (!ok) rethrow(answer);
        return answer;
    }

    function rethrow(bytes memory answer) internal pure {
        assembly ("memory-safe") {
            revert(add(answer, 32), mload(answer))
        }
    }
}
