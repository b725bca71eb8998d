// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "../lib/Types.sol";
import "../lib/Constants.sol";
import {Store} from "../lib/Store.sol";
import {Access} from "../lib/Access.sol";
import {Requests} from "../lib/Requests.sol";
import {Routing} from "../lib/Routing.sol";
import {Events} from "../lib/Events.sol";
import {OpenCallbacks} from "./OpenCallbacks.sol";
import {CloseCallbacks} from "./CloseCallbacks.sol";
import {IncreaseCallbacks} from "./IncreaseCallbacks.sol";
import {DecreaseCallbacks} from "./DecreaseCallbacks.sol";
import {LeverageCallbacks} from "./LeverageCallbacks.sol";

/// The oracle's and the keeper's side. One call stands for the answer that completes the median.
contract OracleFacet is Access {
    function sandboxFulfill(Id calldata orderId, uint64 price) external onlyOperator {
        if (price == 0) revert PriceZero();
        answer(orderId, price, NONE);
    }

    /// Cancels with a reason of choice, at the pair's last answered price or, before there is one, the price the trader expects.
    function sandboxReject(Id calldata orderId, uint8 reason) external onlyOperator {
        answer(orderId, knownPrice(orderId), reason == NONE ? revertParams() : reason);
    }

    function sandboxRejectAt(Id calldata orderId, uint8 reason, uint64 price) external onlyOperator {
        if (price == 0) revert PriceZero();
        answer(orderId, price, reason == NONE ? revertParams() : reason);
    }

    function revertParams() private pure returns (uint8) {
        revert WrongParams();
    }

    function knownPrice(Id calldata orderId) private view returns (uint64) {
        Store.Layout storage s = Store.state();
        PendingOrder storage o = s.pendingOrders[orderId.user][orderId.index];
        uint64 last = s.lastPrice[pairOf(o)];
        if (last != 0) return last;
        return o.trade.openPrice != 0 ? o.trade.openPrice : s.trades[o.trade.user][o.trade.index].openPrice;
    }

    function pairOf(PendingOrder storage o) private view returns (uint16) {
        return o.orderType == MARKET_OPEN ? o.trade.pairIndex : Store.state().trades[o.trade.user][o.trade.index].pairIndex;
    }

    /// An answer to an order that was executed or cancelled meanwhile is only logged; one that comes after an hour is refused.
    function answer(Id memory id, uint64 price, uint8 forced) private nonReentrant {
        Store.Layout storage s = Store.state();
        PendingOrder storage o = s.pendingOrders[id.user][id.index];
        if (o.user == address(0)) revert DoesntExist();
        if (block.timestamp > s.pendingOrderTs[id.user][id.index] + ANSWER_LIFETIME) revert DoesntExist();
        bytes32 request = Requests.requestId(id, 0);
        emit Events.ChainlinkFulfilled(request);
        uint16 pair = pairOf(o);
        uint8 orderType = o.orderType;
        bool lookback = orderType >= LIMIT_OPEN && orderType <= LIQ_CLOSE;
        uint64 candle = lookback ? price : 0;
        AggregatorAnswer memory a = AggregatorAnswer(id, candle, candle, candle, price);
        if (!o.isOpen) return emitReceived(a, pair, request, lookback, false);
        s.lastPrice[pair] = price;
        dispatch(a, orderType, o.trade.user, o.trade.index, forced);
        Requests.close(id);
        emit Events.TradingCallbackExecuted(a, orderType);
        emitReceived(a, pair, request, lookback, true);
    }

    function dispatch(AggregatorAnswer memory a, uint8 t, address user, uint32 index, uint8 forced) private {
        if (t == MARKET_OPEN) Routing.forward(abi.encodeCall(OpenCallbacks.sandboxOnOpenMarket, (a, forced)));
        else if (t == MARKET_CLOSE) Routing.forward(abi.encodeCall(CloseCallbacks.sandboxOnCloseMarket, (a, forced)));
        else if (t <= STOP_OPEN) Routing.forward(abi.encodeCall(OpenCallbacks.sandboxOnOpenTrigger, (a, Id(user, index), t, a.orderId.user, forced)));
        else if (t <= LIQ_CLOSE) Routing.forward(abi.encodeCall(CloseCallbacks.sandboxOnCloseTrigger, (a, Id(user, index), t, a.orderId.user, forced)));
        else if (t == UPDATE_LEVERAGE) Routing.forward(abi.encodeCall(LeverageCallbacks.sandboxOnLeverage, (a, forced)));
        else if (t == MARKET_PARTIAL_OPEN) Routing.forward(abi.encodeCall(IncreaseCallbacks.sandboxOnIncrease, (a, forced)));
        else if (t == MARKET_PARTIAL_CLOSE) Routing.forward(abi.encodeCall(DecreaseCallbacks.sandboxOnDecrease, (a, forced)));
        else Routing.forward(abi.encodeCall(LeverageCallbacks.sandboxOnWithdraw, (a, forced)));
    }

    /// A keeper's execution with signed prices: everything in this transaction, under the order id (0x0, 0).
    function sandboxTrigger(uint256 packed, uint64 open, uint64 high, uint64 low, uint64 current) external onlyOperator nonReentrant {
        uint8 orderType = uint8(packed);
        Id memory tradeId = Id(address(uint160(packed >> 8)), uint32(packed >> 168));
        if (orderType < LIMIT_OPEN || orderType > LIQ_CLOSE) revert WrongOrderType();
        if (low == 0 || current == 0 || low > open || high < open) revert InvalidCandle();
        Trade storage t = Store.state().trades[tradeId.user][tradeId.index];
        Requests.checkTradeType(orderType, t.tradeType);
        if (t.isOpen) Store.state().lastPrice[t.pairIndex] = current;
        OrderAnswer[] memory answers = answersOf(AggregatorAnswer(Id(address(0), 0), open, high, low, current));
        emit Events.SignedPricesReceived(t.pairIndex, true, Requests.lookbackFrom(tradeId.user, tradeId.index, orderType), true, answers, answers);
        AggregatorAnswer memory a = AggregatorAnswer(Id(address(0), 0), open, high, low, current);
        bytes memory call = orderType <= STOP_OPEN
            ? abi.encodeCall(OpenCallbacks.sandboxOnOpenTrigger, (a, tradeId, orderType, msg.sender, NONE))
            : abi.encodeCall(CloseCallbacks.sandboxOnCloseTrigger, (a, tradeId, orderType, msg.sender, NONE));
        Routing.forward(call);
    }

    function emitReceived(AggregatorAnswer memory a, uint16 pair, bytes32 request, bool lookback, bool isUsed) private {
        uint256 data = uint256(a.open) | (uint256(a.high) << 56) | (uint256(a.low) << 112) | (uint256(a.current) << 168) | (block.timestamp << 224);
        OrderAnswer[] memory answers = answersOf(a);
        emit Events.PriceReceived(a.orderId, pair, request, data, lookback, isUsed, true, true, answers, answers);
    }

    function answersOf(AggregatorAnswer memory a) private view returns (OrderAnswer[] memory answers) {
        answers = new OrderAnswer[](Store.state().minAnswers);
        for (uint256 i; i < answers.length; ++i) {
            answers[i] = OrderAnswer(uint56(a.open), uint56(a.high), uint56(a.low), uint56(a.current), uint32(block.timestamp));
        }
    }
}
