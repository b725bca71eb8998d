// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "../lib/Types.sol";
import "../lib/Constants.sol";
import {Store} from "../lib/Store.sol";
import {Access} from "../lib/Access.sol";
import {Maths} from "../lib/Maths.sol";
import {Markets} from "../lib/Markets.sol";
import {Impact} from "../lib/Impact.sol";
import {Fees} from "../lib/Fees.sol";
import {Holding} from "../lib/Holding.sol";
import {Ledger} from "../lib/Ledger.sol";
import {Settlement} from "../lib/Settlement.sol";
import {EffectiveLeverage} from "../lib/EffectiveLeverage.sol";
import {Events} from "../lib/Events.sol";

/// What an answered price does to a leverage update and to a withdrawal of profit.
contract LeverageCallbacks is Access {
    function sandboxOnLeverage(AggregatorAnswer calldata a, uint8 forced) external onlyOperator whenActivated {
        Trade memory pending = Store.state().pendingOrders[a.orderId.user][a.orderId.index].trade;
        Trade memory t = Store.state().trades[pending.user][pending.index];
        bool isIncrease = pending.leverage > t.leverage;
        UpdateLeverageValues memory v;
        uint8 reason = NO_TRADE;
        if (t.isOpen) {
            Fees.refreshTier(t);
            v = prepare(t, pending, isIncrease, a.current);
            reason = reasonToCancel(t, v, isIncrease, a.current);
            if (forced != NONE) reason = forced;
        }
        if (reason == NONE) apply_(t, pending, v, isIncrease, a.current);
        else if (!isIncrease) Settlement.pay(t.collateralIndex, t.user, pending.collateralAmount);
        if (reason != NO_TRADE) Settlement.chargeFee(t.user, t.index, v.govFeeCollateral, a.current);
        emit Events.LeverageUpdateExecuted(
            a.orderId, isIncrease, reason, t.collateralIndex, t.user, t.pairIndex, t.index, a.current, pending.collateralAmount, v
        );
    }

    function prepare(Trade memory t, Trade memory pending, bool isIncrease, uint64 price)
        private
        view
        returns (UpdateLeverageValues memory v)
    {
        v.newLeverage = pending.leverage;
        v.govFeeCollateral = Fees.minGovOf(t);
        v.newCollateralAmount = isIncrease ? t.collateralAmount - pending.collateralAmount : t.collateralAmount + pending.collateralAmount;
        v.existingLiqPrice = Holding.liquidationPriceOf(t, 0, price);
        LiqPriceInput memory p = Holding.liqInput(t, int256(v.govFeeCollateral), price);
        p.collateral = v.newCollateralAmount;
        p.leverage = v.newLeverage;
        v.newLiqPrice = Holding.liquidationPrice(p);
        if (!isIncrease) return v;
        v.newEffectiveLeverage = EffectiveLeverage.compute(t, t.openPrice, v.newCollateralAmount, v.newLeverage, price, v.govFeeCollateral);
        v.totalTradeAvailableCollateralInDiamond = Holding.available(t.user, t.index, t.collateralAmount);
        v.availableCollateralInDiamond = Maths.min(pending.collateralAmount, v.totalTradeAvailableCollateralInDiamond);
    }

    function reasonToCancel(Trade memory t, UpdateLeverageValues memory v, bool isIncrease, uint64 price) private view returns (uint8) {
        if (Holding.isLiquidatable(t.long, price, v.existingLiqPrice) || Holding.isLiquidatable(t.long, price, v.newLiqPrice)) return LIQ_REACHED;
        if (!isIncrease) return NONE;
        if (v.newEffectiveLeverage > Markets.maxLeverage(t.pairIndex)) return MAX_LEVERAGE;
        bool tooHigh = t.isCounterTrade && v.newEffectiveLeverage > Store.state().counterTradeMaxLeverage[t.pairIndex];
        return tooHigh ? COUNTER_TRADE_CANCELED : NONE;
    }

    function apply_(Trade memory t, Trade memory pending, UpdateLeverageValues memory v, bool isIncrease, uint64 price) private {
        Ledger.Change memory c;
        c.collateral = uint120(v.newCollateralAmount);
        c.leverage = uint24(v.newLeverage);
        c.openPrice = t.openPrice;
        c.orderType = UPDATE_LEVERAGE;
        c.price = price;
        Ledger.changePosition(t, c);
        if (!isIncrease) return;
        Settlement.transferValue(t, int256(uint256(pending.collateralAmount)), int256(v.availableCollateralInDiamond));
        Holding.topUpVirtual(t, v.newCollateralAmount);
    }

    struct Withdrawal {
        Trade t;
        TradePriceImpact impact;
        int256 pnlPercent;
        int256 withdrawable;
        uint256 asked;
        uint256 paid;
    }

    /// Nothing is emitted when the trade closed meanwhile. Profit is paid, the position stays as it is.
    function sandboxOnWithdraw(AggregatorAnswer calldata a, uint8 forced) external onlyOperator whenNotPaused {
        Trade memory pending = Store.state().pendingOrders[a.orderId.user][a.orderId.index].trade;
        Withdrawal memory w;
        w.t = Store.state().trades[pending.user][pending.index];
        if (!w.t.isOpen) return;
        Fees.refreshTier(w.t);
        uint256 size = Maths.positionSizeOf(w.t);
        w.impact = Impact.closing(w.t, a.current, size, a.current);
        w.pnlPercent = Maths.pnlPercent(w.t.openPrice, w.impact.priceAfterImpact, w.t.long, w.t.leverage);
        uint256 value = Holding.value(w.t, w.pnlPercent, Fees.totalOf(w.t, size), a.current);
        w.withdrawable = int256(value) - int256(uint256(w.t.collateralAmount));
        w.asked = pending.collateralAmount;
        if (forced == NONE && w.withdrawable > 0) w.paid = Maths.min(w.asked, uint256(w.withdrawable));
        if (w.paid > 0) {
            Settlement.realizePnl(w.t, -int256(w.paid));
            Settlement.pay(w.t.collateralIndex, w.t.user, w.paid);
            Store.state().uiRealizedPnl[w.t.user][w.t.index].pnlWithdrawnCollateral += uint128(w.paid);
        }
        Settlement.chargeFee(w.t.user, w.t.index, Fees.minGovOf(w.t), a.current);
        emit Events.TradePositivePnlWithdrawn(
            a.orderId, w.t.collateralIndex, w.t.user, w.t.index, w.impact, w.pnlPercent, w.withdrawable, a.current, w.asked, w.paid
        );
    }
}
