// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "../lib/Types.sol";
import "../lib/Constants.sol";
import {Store} from "../lib/Store.sol";
import {Access} from "../lib/Access.sol";
import {Maths} from "../lib/Maths.sol";
import {Ledger} from "../lib/Ledger.sol";
import {Requests} from "../lib/Requests.sol";
import {Settlement} from "../lib/Settlement.sol";
import {Conflicts} from "../lib/Conflicts.sol";
import {Events} from "../lib/Events.sol";

/// Closing and editing, as the trader or the trader's delegate asks for it.
contract TradingFacet is Access {
    function closeTradeMarket(uint32 index, uint64 expectedPrice) external whenNotPaused nonReentrant {
        if (expectedPrice == 0) revert ZeroValue();
        address user = sender();
        Conflicts.check(user, index);
        Trade memory t = Store.state().trades[user][index];
        PendingOrder memory o;
        o.trade.user = user;
        o.trade.index = index;
        o.trade.pairIndex = t.pairIndex;
        o.trade.openPrice = expectedPrice;
        o.user = user;
        o.orderType = MARKET_CLOSE;
        Id memory id = Requests.store(o, t.collateralIndex, t.pairIndex, Maths.positionSizeOf(t), t.isCounterTrade);
        emit Events.MarketOrderInitiated(id, user, t.pairIndex, false);
    }

    function updateOpenOrder(uint32 index, uint64 triggerPrice, uint64 tp, uint64 sl, uint16 maxSlippageP)
        external
        whenActivated
        nonReentrant
    {
        address user = sender();
        Store.Layout storage s = Store.state();
        Trade storage t = s.trades[user][index];
        requireNoTrigger(user, index, t.tradeType == TYPE_STOP ? STOP_OPEN : LIMIT_OPEN);
        if (!t.isOpen) revert DoesntExist();
        if (t.tradeType == TYPE_TRADE) revert WrongTradeType();
        Ledger.validatePrices(t.long, triggerPrice, tp, sl);
        if (maxSlippageP == 0) revert MaxSlippageZero();
        t.openPrice = triggerPrice;
        t.tp = tp;
        t.sl = Ledger.clampedSl(t, s.tradeLiquidationParams[user][index], sl);
        TradeInfo storage info = s.tradeInfos[user][index];
        info.maxSlippageP = maxSlippageP;
        info.createdBlock = uint32(block.number);
        info.tpLastUpdatedBlock = info.createdBlock;
        info.slLastUpdatedBlock = info.createdBlock;
        emit Events.OpenOrderDetailsUpdated(user, index, triggerPrice, tp, t.sl, maxSlippageP);
        emit Events.OpenLimitUpdated(user, t.pairIndex, index, triggerPrice, tp, sl, maxSlippageP);
    }

    function cancelOpenOrder(uint32 index) external whenNotPaused nonReentrant {
        address user = sender();
        Trade memory t = Store.state().trades[user][index];
        if (t.tradeType == TYPE_TRADE) revert WrongTradeType();
        requireNoTrigger(user, index, t.tradeType == TYPE_STOP ? STOP_OPEN : LIMIT_OPEN);
        Ledger.closeOrder(t);
        Settlement.pay(t.collateralIndex, user, t.collateralAmount);
        emit Events.OpenLimitCanceled(user, t.pairIndex, index);
    }

    function updateTp(uint32 index, uint64 newTp) external whenActivated nonReentrant {
        address user = sender();
        requireNoTrigger(user, index, TP_CLOSE);
        openPosition(user, index).tp = newTp;
        Store.state().tradeInfos[user][index].tpLastUpdatedBlock = uint32(block.number);
        emit Events.TradeTpUpdated(user, index, newTp);
    }

    function updateSl(uint32 index, uint64 newSl) external whenActivated nonReentrant {
        address user = sender();
        requireNoTrigger(user, index, SL_CLOSE);
        Trade storage t = openPosition(user, index);
        t.sl = Ledger.clampedSl(t, Store.state().tradeLiquidationParams[user][index], newSl);
        Store.state().tradeInfos[user][index].slLastUpdatedBlock = uint32(block.number);
        emit Events.TradeSlUpdated(user, index, t.sl);
    }

    function updateMaxClosingSlippageP(uint32 index, uint16 maxSlippageP) external whenNotPaused nonReentrant {
        address user = sender();
        requireNoTrigger(user, index, TP_CLOSE);
        requireNoTrigger(user, index, SL_CLOSE);
        openPosition(user, index);
        if (maxSlippageP == 0) revert MaxSlippageZero();
        Store.state().tradeInfos[user][index].maxSlippageP = maxSlippageP;
        emit Events.TradeMaxClosingSlippagePUpdated(user, index, maxSlippageP);
    }

    /// Keepers only: orderType | trader << 8 | index << 168.
    function triggerOrder(uint256 packed) external notDelegated nonReentrant {
        uint8 orderType = uint8(packed);
        address trader = address(uint160(packed >> 8));
        uint32 index = uint32(packed >> 168);
        if (orderType < LIMIT_OPEN || orderType > LIQ_CLOSE) revert WrongOrderType();
        requireNoTrigger(trader, index, orderType);
        Trade memory t = Store.state().trades[trader][index];
        if (!t.isOpen) revert NoTrade();
        PendingOrder memory o;
        o.trade.user = trader;
        o.trade.index = index;
        o.trade.pairIndex = t.pairIndex;
        o.user = msg.sender;
        o.orderType = orderType;
        Id memory id = Requests.store(o, t.collateralIndex, t.pairIndex, Maths.positionSizeOf(t), t.isCounterTrade);
        emit Events.TriggerOrderInitiated(id, trader, t.pairIndex, true);
    }

    /// Only whitelisted keepers may use signed prices, and none is: the sandbox's own keeper calls `sandboxTrigger`.
    function triggerOrderWithSignatures(uint256, SignedPairPrices[] calldata) external view notDelegated {
        revert NotAuthorized();
    }

    function openPosition(address user, uint32 index) private view returns (Trade storage t) {
        t = Store.state().trades[user][index];
        if (!t.isOpen) revert DoesntExist();
        if (t.tradeType != TYPE_TRADE) revert WrongTradeType();
    }

    function requireNoTrigger(address user, uint32 index, uint8 orderType) private view {
        if (Requests.hasActiveOrder(Store.state().tradePendingOrderBlock[user][index][orderType])) revert PendingTrigger();
    }
}
