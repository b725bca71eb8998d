// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "../lib/Types.sol";
import "../lib/Constants.sol";
import {Store} from "../lib/Store.sol";
import {Access} from "../lib/Access.sol";
import {Maths} from "../lib/Maths.sol";
import {Markets} from "../lib/Markets.sol";
import {Fees} from "../lib/Fees.sol";
import {Holding} from "../lib/Holding.sol";
import {Ledger} from "../lib/Ledger.sol";
import {Settlement} from "../lib/Settlement.sol";
import {Native} from "../lib/Native.sol";
import {Events} from "../lib/Events.sol";

/// The end of a trade and the fees of a living one, shared by all callbacks.
contract SettlementFacet is Access {
    function s() private pure returns (Store.Layout storage) {
        return Store.state();
    }

    function sandboxOnRegister(Trade memory t, uint256 fee, uint8 orderType, uint64 price) external onlyOperator returns (Trade memory) {
        t = Ledger.storeTrade(t, 0, price);
        chargeFee(t.user, t.index, fee, price);
        Fees.process(t, Maths.positionSizeOf(t), orderType, fee);
        return t;
    }

    /// Closes a trade for good and pays its value out, which is nothing once the execution price is beyond liquidation.
    function sandboxOnClose(Trade memory t, int256 pnlP, uint8 orderType, uint256 executionPriceRaw, uint256 liqPrice, uint64 price)
        external
        onlyOperator
        returns (uint256)
    {
        return close(t, pnlP, orderType, executionPriceRaw, liqPrice, price);
    }

    function close(Trade memory t, int256 pnlP, uint8 orderType, uint256 executionPriceRaw, uint256 liqPrice, uint64 price)
        private
        returns (uint256 value)
    {
        Ledger.closeTrade(t, pnlP > 0, price);
        Fees.refreshTier(t);
        uint256 size = Maths.positionSizeOf(t);
        uint256 fee = orderType == LIQ_CLOSE ? Fees.liquidation(t) : Fees.totalOf(t, size);
        if (!Holding.isLiquidatable(t.long, executionPriceRaw, liqPrice)) value = Holding.value(t, pnlP, fee, price);
        Settlement.transferValue(t, int256(value), int256(Holding.available(t.user, t.index, t.collateralAmount)) - int256(fee));
        Fees.process(t, size, orderType, fee);
        s().uiRealizedPnl[t.user][t.index].realizedTradingFeesCollateral += uint128(fee);
    }

    /// Pays wrapped native tokens out as native currency; false where that is switched off or the receiver does not take it.
    function sandboxOnPayNative(address token, address to, uint256 amount) external returns (bool) {
        if (!s().locked) revert WrongAccess();
        return !s().nativeTransferDisabled && Native.pay(token, to, amount);
    }

    /// Charges a fee to an open trade, or liquidates it on the spot when it cannot bear the fee.
    function sandboxOnFee(address user, uint32 index, uint256 fee, uint64 price) external onlyOperator {
        chargeFee(user, index, fee, price);
    }

    function chargeFee(address user, uint32 index, uint256 fee, uint64 price) private {
        Trade memory t = s().trades[user][index];
        TradeFeesData storage d = s().tradeFeesData[user][index];
        uint256 liqPrice = Holding.liquidationPriceOf(t, int256(fee), price);
        uint128 fees = d.realizedTradingFeesCollateral;
        int128 pnl = d.realizedPnlCollateral;
        if (Holding.isLiquidatable(t.long, price, liqPrice)) {
            close(t, 0, LIQ_CLOSE, price, liqPrice, price);
            TradePriceImpact memory none;
            emit Events.LimitExecuted(
                Id(address(0), 0), user, index, 0, t, address(0), LIQ_CLOSE, price, price, liqPrice, none, -int256(HUNDRED_P), 0,
                Markets.priceUsd(t.collateralIndex), false
            );
            emit Events.TradingFeesRealized(t.collateralIndex, user, index, fee, 0, fees, pnl, 0);
            return;
        }
        uint256 inDiamond = Holding.available(user, index, t.collateralAmount);
        uint256 fromVault = fee > inDiamond ? fee - inDiamond : 0;
        pnl -= int128(int256(fromVault));
        fees += uint128(fee - fromVault);
        d.realizedPnlCollateral = pnl;
        d.realizedTradingFeesCollateral = fees;
        s().uiRealizedPnl[user][index].realizedTradingFeesCollateral += uint128(fee);
        emit Events.TradingFeesRealized(t.collateralIndex, user, index, fee, fee, fees, pnl, fromVault);
    }
}
