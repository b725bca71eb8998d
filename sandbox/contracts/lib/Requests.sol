// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";
import "./Constants.sol";
import {Store} from "./Store.sol";
import {Ledger} from "./Ledger.sol";
import {Events} from "./Events.sol";

/// Orders that wait for the oracles.
library Requests {
    function s() private pure returns (Store.Layout storage) {
        return Store.state();
    }

    /// Stores a pending order and asks the oracles for a price.
    function store(PendingOrder memory o, uint8 index, uint16 pair, uint256 size, bool isCounterTrade)
        internal
        returns (Id memory id)
    {
        if (o.orderType == MARKET_OPEN) {
            Ledger.validate(o.trade);
            if (o.maxSlippageP == 0) revert MaxSlippageZero();
        } else {
            validateTarget(o.orderType, s().trades[o.trade.user][o.trade.index]);
            s().tradePendingOrderBlock[o.trade.user][o.trade.index][o.orderType] = block.number;
        }
        Counter storage counter = s().counters[o.user][COUNTER_PENDING];
        o.index = counter.currentIndex++;
        counter.openCount++;
        o.isOpen = true;
        o.createdBlock = uint32(block.number);
        s().pendingOrders[o.user][o.index] = o;
        s().pendingOrderTs[o.user][o.index] = block.timestamp;
        Ledger.remember(o.user);
        emit Events.PendingOrderStored(o);
        id = Id(o.user, o.index);
        uint256 nodes = s().oracles.length;
        for (uint256 i; i < nodes; ++i) emit Events.ChainlinkRequested(requestId(id, i));
        s().requestCount += nodes;
        bool isLookback = o.orderType >= LIMIT_OPEN && o.orderType <= LIQ_CLOSE;
        uint256 fromBlock = isLookback ? lookbackFrom(o.trade.user, o.trade.index, o.orderType) : 0;
        emit Events.PriceRequested(index, pair, o, size, fromBlock, isCounterTrade, isLookback, 0, 0, nodes);
    }

    function requestId(Id memory id, uint256 node) internal view returns (bytes32) {
        return keccak256(abi.encode(address(this), id.user, id.index, node));
    }

    function lookbackFrom(address user, uint32 index, uint8 orderType) internal view returns (uint32) {
        TradeInfo storage info = s().tradeInfos[user][index];
        if (orderType == TP_CLOSE) return info.tpLastUpdatedBlock;
        return orderType == SL_CLOSE ? info.slLastUpdatedBlock : info.createdBlock;
    }

    function validateTarget(uint8 orderType, Trade storage t) private view {
        if (!t.isOpen) revert DoesntExist();
        checkTradeType(orderType, t.tradeType);
        if (orderType == SL_CLOSE && t.sl == 0) revert NoSl();
        if (orderType == TP_CLOSE && t.tp == 0) revert NoTp();
    }

    function checkTradeType(uint8 orderType, uint8 tradeType) internal pure {
        uint8 wanted = orderType == LIMIT_OPEN ? TYPE_LIMIT : orderType == STOP_OPEN ? TYPE_STOP : TYPE_TRADE;
        if (tradeType != wanted) revert WrongTradeType();
    }

    function close(Id memory id) internal {
        PendingOrder storage o = s().pendingOrders[id.user][id.index];
        o.isOpen = false;
        s().counters[id.user][COUNTER_PENDING].openCount--;
        delete s().tradePendingOrderBlock[o.trade.user][o.trade.index][o.orderType];
        emit Events.PendingOrderClosed(id);
    }

    function hasActiveOrder(uint256 orderBlock) internal view returns (bool) {
        return orderBlock > 0 && block.number - orderBlock < s().triggerTimeoutBlocks;
    }
}
