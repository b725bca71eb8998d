// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "../lib/Types.sol";
import "../lib/Constants.sol";
import {Store} from "../lib/Store.sol";
import {Access} from "../lib/Access.sol";
import {Maths} from "../lib/Maths.sol";
import {Markets} from "../lib/Markets.sol";
import {Requests} from "../lib/Requests.sol";
import {Settlement} from "../lib/Settlement.sol";
import {Native} from "../lib/Native.sol";
import {Conflicts} from "../lib/Conflicts.sol";
import {Events} from "../lib/Events.sol";

/// Changing the size or leverage of an open trade, withdrawing its profit, and reclaiming what no oracle answered.
contract AdjustFacet is Access {
    function updateLeverage(uint32 index, uint24 newLeverage) external whenActivated nonReentrant {
        requestLeverage(index, newLeverage, false);
    }

    function updateLeverageNative(uint32 index, uint24 newLeverage) external payable whenActivated notDelegated nonReentrant {
        requestLeverage(index, newLeverage, true);
    }

    function requestLeverage(uint32 index, uint24 newLeverage, bool isNative) private {
        Trade memory t = target(index);
        requireActiveCollateral(t);
        if (newLeverage == t.leverage || newLeverage < MIN_LEVERAGE) revert WrongLeverage();
        uint256 newCollateral = (uint256(t.collateralAmount) * t.leverage) / newLeverage;
        if (newCollateral < Markets.minFeeCollateral(t.collateralIndex, t.pairIndex)) revert InsufficientCollateral();
        bool isIncrease = newLeverage > t.leverage;
        uint256 delta = isIncrease ? t.collateralAmount - newCollateral : newCollateral - t.collateralAmount;
        collect(t, isIncrease ? 0 : delta, isNative);
        PendingOrder memory o = blank(t, UPDATE_LEVERAGE);
        o.trade.leverage = newLeverage;
        o.trade.collateralAmount = uint120(delta);
        uint256 feeSize = Markets.fromUsd(t.collateralIndex, Markets.minPositionUsd(t.pairIndex)) / 2;
        Id memory id = Requests.store(o, t.collateralIndex, t.pairIndex, feeSize, t.isCounterTrade);
        emit Events.LeverageUpdateInitiated(id, t.user, t.pairIndex, index, isIncrease, newLeverage);
    }

    function increasePositionSize(uint32 index, uint120 collateralDelta, uint24 leverageDelta, uint64 expectedPrice, uint16 maxSlippageP)
        external
        whenActivated
        nonReentrant
    {
        requestIncrease(index, collateralDelta, leverageDelta, expectedPrice, maxSlippageP, false);
    }

    function increasePositionSizeNative(
        uint32 index,
        uint120 collateralDelta,
        uint24 leverageDelta,
        uint64 expectedPrice,
        uint16 maxSlippageP
    ) external payable whenActivated notDelegated nonReentrant {
        requestIncrease(index, collateralDelta, leverageDelta, expectedPrice, maxSlippageP, true);
    }

    function requestIncrease(
        uint32 index,
        uint120 collateralDelta,
        uint24 leverageDelta,
        uint64 expectedPrice,
        uint16 maxSlippageP,
        bool isNative
    ) private {
        Trade memory t = target(index);
        requireActiveCollateral(t);
        if (Store.state().tradeInfos[t.user][index].contractsVersion < VERSION_V10) revert NotAuthorized();
        if (leverageDelta == 0 || expectedPrice == 0 || maxSlippageP == 0) revert InvalidIncreasePositionSizeInput();
        bool leverageOnly = collateralDelta == 0;
        uint256 delta = Maths.positionSize(leverageOnly ? t.collateralAmount : collateralDelta, leverageDelta);
        uint256 newLeverage = leverageOnly
            ? uint256(t.leverage) + leverageDelta
            : ((Maths.positionSizeOf(t) + delta) * 1e3) / (uint256(t.collateralAmount) + collateralDelta);
        if (newLeverage < MIN_LEVERAGE || newLeverage > type(uint24).max) revert WrongLeverage();
        collect(t, collateralDelta, isNative);
        PendingOrder memory o = blank(t, MARKET_PARTIAL_OPEN);
        o.trade.collateralAmount = collateralDelta;
        o.trade.leverage = leverageDelta;
        o.trade.openPrice = expectedPrice;
        o.maxSlippageP = maxSlippageP;
        Id memory id = Requests.store(o, t.collateralIndex, t.pairIndex, delta, t.isCounterTrade);
        emit Events.PositionSizeUpdateInitiated(id, t.user, t.pairIndex, index, true, collateralDelta, leverageDelta);
    }

    function decreasePositionSize(uint32 index, uint120 collateralDelta, uint24 leverageDelta, uint64 expectedPrice)
        external
        whenNotPaused
        nonReentrant
    {
        Trade memory t = target(index);
        requireActiveCollateral(t);
        if ((collateralDelta == 0) == (leverageDelta == 0)) revert InvalidDecreasePositionSizeInput();
        bool leverageOnly = leverageDelta > 0;
        if (leverageOnly && t.leverage - leverageDelta < MIN_LEVERAGE) revert WrongLeverage();
        if (expectedPrice == 0) revert ZeroValue();
        uint256 left = t.collateralAmount - collateralDelta;
        if (left < Markets.minFeeCollateral(t.collateralIndex, t.pairIndex)) revert InsufficientCollateral();
        PendingOrder memory o = blank(t, MARKET_PARTIAL_CLOSE);
        o.trade.collateralAmount = collateralDelta;
        o.trade.leverage = leverageDelta;
        o.trade.openPrice = expectedPrice;
        uint256 delta = leverageOnly ? Maths.positionSize(t.collateralAmount, leverageDelta) : Maths.positionSize(collateralDelta, t.leverage);
        Id memory id = Requests.store(o, t.collateralIndex, t.pairIndex, delta, t.isCounterTrade);
        emit Events.PositionSizeUpdateInitiated(id, t.user, t.pairIndex, index, false, collateralDelta, leverageDelta);
    }

    function withdrawPositivePnl(uint32 index, uint120 amountCollateral) external whenNotPaused nonReentrant {
        if (amountCollateral == 0) revert ZeroValue();
        address user = sender();
        Trade memory t = Store.state().trades[user][index];
        if (!t.isOpen || t.tradeType != TYPE_TRADE) revert NoTrade();
        Conflicts.check(user, index);
        PendingOrder memory o = blank(t, PNL_WITHDRAWAL);
        o.trade.collateralAmount = amountCollateral;
        uint256 feeSize = Markets.fromUsd(t.collateralIndex, Markets.minPositionUsd(t.pairIndex)) / 2;
        Id memory id = Requests.store(o, t.collateralIndex, t.pairIndex, feeSize, t.isCounterTrade);
        emit Events.PositivePnlWithdrawalInitiated(id, user, index, amountCollateral);
    }

    function cancelOrderAfterTimeout(uint32 orderIndex) external whenNotPaused nonReentrant {
        Store.Layout storage s = Store.state();
        Id memory id = Id(sender(), orderIndex);
        PendingOrder memory o = s.pendingOrders[id.user][orderIndex];
        if (!o.isOpen) revert NoOrder();
        if (!Conflicts.isMarket(o.orderType)) revert WrongOrderType();
        if (block.number < uint256(o.createdBlock) + s.marketOrdersTimeoutBlocks) revert WaitTimeout();
        Requests.close(id);
        (uint8 collateralIndex, uint256 amount) = held(o);
        if (amount > 0) {
            Settlement.pay(collateralIndex, o.trade.user, amount);
            emit Events.CollateralReturnedAfterTimeout(id, collateralIndex, o.trade.user, amount);
        }
        emit Events.ChainlinkCallbackTimeout(id, o.trade.pairIndex);
    }

    /// Collateral the request took and has not used.
    function held(PendingOrder memory o) private view returns (uint8, uint256) {
        if (o.orderType == MARKET_OPEN) return (o.trade.collateralIndex, o.trade.collateralAmount);
        Trade storage t = Store.state().trades[o.trade.user][o.trade.index];
        if (o.orderType == MARKET_PARTIAL_OPEN) return (t.collateralIndex, o.trade.collateralAmount);
        bool added = o.orderType == UPDATE_LEVERAGE && o.trade.leverage < t.leverage;
        return (t.collateralIndex, added ? o.trade.collateralAmount : 0);
    }

    function target(uint32 index) private view returns (Trade memory t) {
        address user = sender();
        t = Store.state().trades[user][index];
        if (!t.isOpen) revert DoesntExist();
        Conflicts.check(user, index);
    }

    function requireActiveCollateral(Trade memory t) private view {
        if (!Store.state().collaterals[t.collateralIndex].isActive) revert InvalidCollateralIndex();
    }

    function collect(Trade memory t, uint256 amount, bool isNative) private {
        if (!isNative) return Settlement.pull(t.collateralIndex, t.user, amount);
        uint256 sent = Native.wrap(t.collateralIndex);
        if (amount > sent) revert InsufficientCollateral();
        Settlement.pay(t.collateralIndex, t.user, sent - amount);
    }

    /// The protocol leaves pair and collateral of such an order empty; the trade it names knows them.
    function blank(Trade memory t, uint8 orderType) private pure returns (PendingOrder memory o) {
        o.trade.user = t.user;
        o.trade.index = t.index;
        o.user = t.user;
        o.orderType = orderType;
    }
}
