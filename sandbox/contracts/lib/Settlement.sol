// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";
import "./Constants.sol";
import {Store} from "./Store.sol";
import {Markets} from "./Markets.sol";
import {Fees} from "./Fees.sol";
import {Routing} from "./Routing.sol";
import {SettlementFacet} from "../facets/SettlementFacet.sol";
import {Events} from "./Events.sol";

/// Money: in from the trader, out to the trader and to nobody else. The vault's money lies in the Diamond too.
library Settlement {
    function s() private pure returns (Store.Layout storage) {
        return Store.state();
    }

    function pull(uint8 index, address from, uint256 amount) internal {
        if (amount == 0) return;
        callToken(Markets.collateral(index).collateral, abi.encodeWithSignature("transferFrom(address,address,uint256)", from, address(this), amount));
    }

    function pay(uint8 index, address to, uint256 amount) internal {
        if (amount == 0) return;
        address token = Markets.collateral(index).collateral;
        if (token == s().wrappedNative && abi.decode(Routing.forward(abi.encodeCall(SettlementFacet.sandboxOnPayNative, (token, to, amount))), (bool))) return;
        callToken(token, abi.encodeWithSignature("transfer(address,uint256)", to, amount));
    }

    /// The token's own revert reaches the caller unchanged.
    function callToken(address token, bytes memory data) private {
        (bool ok, bytes memory answer) = token.call(data);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
    }

    function transferValue(Trade memory t, int256 toTrader, int256 inDiamond) internal {
        if (inDiamond < 0 && toTrader < 0) revert NotAuthorized();
        if (toTrader > 0) pay(t.collateralIndex, t.user, uint256(toTrader));
        emit Events.TradeValueTransferred(t.collateralIndex, t.user, t.index, toTrader, inDiamond);
    }

    function close(Trade memory t, int256 pnlP, uint8 orderType, uint256 executionPriceRaw, uint256 liqPrice, uint64 price)
        internal
        returns (uint256 value)
    {
        bytes memory call = abi.encodeCall(SettlementFacet.sandboxOnClose, (t, pnlP, orderType, executionPriceRaw, liqPrice, price));
        return abi.decode(Routing.forward(call), (uint256));
    }

    /// Stores an opened trade and charges its opening fee.
    function register(Trade memory t, uint256 fee, uint8 orderType, uint64 price) internal returns (Trade memory) {
        return abi.decode(Routing.forward(abi.encodeCall(SettlementFacet.sandboxOnRegister, (t, fee, orderType, price))), (Trade));
    }

    function chargeFee(address user, uint32 index, uint256 fee, uint64 price) internal {
        Routing.forward(abi.encodeCall(SettlementFacet.sandboxOnFee, (user, index, fee, price)));
    }

    /// What a cancelled action costs the position it was meant for.
    function chargeGovFee(Trade memory t, uint64 price) internal {
        Fees.refreshTier(t);
        chargeFee(t.user, t.index, Fees.minGovOf(t), price);
    }

    function realizePnl(Trade memory t, int256 amount) internal {
        s().tradeFeesData[t.user][t.index].realizedPnlCollateral += int128(amount);
    }
}
