// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "../lib/Types.sol";
import "../lib/Constants.sol";
import {Store} from "../lib/Store.sol";
import {Requests} from "../lib/Requests.sol";

/// Trades, resting orders, pending orders and counters.
contract TradeReads {
    function s() private pure returns (Store.Layout storage) {
        return Store.state();
    }

    function getTrade(address trader, uint32 index) external view returns (Trade memory) {
        return s().trades[trader][index];
    }

    function getTradeInfo(address trader, uint32 index) external view returns (TradeInfo memory) {
        return s().tradeInfos[trader][index];
    }

    function getTradeLiquidationParams(address trader, uint32 index) external view returns (GroupLiquidationParams memory) {
        return s().tradeLiquidationParams[trader][index];
    }

    /// Indices of what is open, ascending; trades and resting orders together.
    function openIndices(address trader) private view returns (uint32[] memory indices) {
        Counter storage counter = s().counters[trader][COUNTER_TRADE];
        indices = new uint32[](counter.openCount);
        uint256 found;
        for (uint32 i; i < counter.currentIndex && found < indices.length; ++i) {
            if (s().trades[trader][i].isOpen) indices[found++] = i;
        }
    }

    function getTrades(address trader) public view returns (Trade[] memory list) {
        uint32[] memory indices = openIndices(trader);
        list = new Trade[](indices.length);
        for (uint256 i; i < indices.length; ++i) list[i] = s().trades[trader][indices[i]];
    }

    function getTradeInfos(address trader) external view returns (TradeInfo[] memory list) {
        uint32[] memory indices = openIndices(trader);
        list = new TradeInfo[](indices.length);
        for (uint256 i; i < indices.length; ++i) list[i] = s().tradeInfos[trader][indices[i]];
    }

    function getTradesLiquidationParams(address trader) external view returns (GroupLiquidationParams[] memory list) {
        uint32[] memory indices = openIndices(trader);
        list = new GroupLiquidationParams[](indices.length);
        for (uint256 i; i < indices.length; ++i) list[i] = s().tradeLiquidationParams[trader][indices[i]];
    }

    function getPendingOrder(Id calldata orderId) external view returns (PendingOrder memory) {
        return s().pendingOrders[orderId.user][orderId.index];
    }

    function getPendingOrders(address user) external view returns (PendingOrder[] memory list) {
        Counter storage counter = s().counters[user][COUNTER_PENDING];
        list = new PendingOrder[](counter.openCount);
        uint256 found;
        for (uint32 i; i < counter.currentIndex && found < list.length; ++i) {
            if (s().pendingOrders[user][i].isOpen) list[found++] = s().pendingOrders[user][i];
        }
    }

    function getCounters(address trader, uint8 counterType) external view returns (Counter memory) {
        return s().counters[trader][counterType];
    }

    function getCountersForTraders(address[] calldata traders, uint8 counterType) external view returns (Counter[] memory list) {
        list = new Counter[](traders.length);
        for (uint256 i; i < traders.length; ++i) list[i] = s().counters[traders[i]][counterType];
    }

    function getTradePendingOrderBlock(Id calldata tradeId, uint8 orderType) external view returns (uint256) {
        return s().tradePendingOrderBlock[tradeId.user][tradeId.index][orderType];
    }

    function hasActiveOrder(uint256 orderBlock) external view returns (bool) {
        return Requests.hasActiveOrder(orderBlock);
    }

    function getTradeContractsVersion(address trader, uint32 index) external view returns (uint8) {
        return s().tradeInfos[trader][index].contractsVersion;
    }

    function getLookbackFromBlock(address trader, uint32 index, uint8 orderType) external view returns (uint32) {
        return Requests.lookbackFrom(trader, index, orderType);
    }

    /// `limit` is the last position wanted; what lies beyond the last trade is left zero.
    function getAllTradesForTraders(address[] memory traders, uint256 offset, uint256 limit) public view returns (Trade[] memory list) {
        list = new Trade[](limit - offset + 1);
        uint256 position;
        for (uint256 i; i < traders.length && position <= limit; ++i) {
            Trade[] memory trades = getTrades(traders[i]);
            for (uint256 j; j < trades.length; ++j) {
                if (position >= offset && position <= limit) list[position - offset] = trades[j];
                ++position;
            }
        }
    }

    function getAllTrades(uint256 offset, uint256 limit) external view returns (Trade[] memory) {
        return getAllTradesForTraders(s().traders, offset, limit);
    }

    function getTradersCount() external view returns (uint256) {
        return s().traders.length;
    }

    function getTraders(uint32 offset, uint32 limit) external view returns (address[] memory list) {
        list = new address[](limit - offset + 1);
        for (uint256 i; i < list.length && offset + i < s().traders.length; ++i) list[i] = s().traders[offset + i];
    }

    function getTraderStored(address trader) external view returns (bool) {
        return s().traderStored[trader];
    }

    function getTradingActivated() external view returns (uint8) {
        return s().tradingActivated;
    }

    function getMarketOrdersTimeoutBlocks() external view returns (uint16) {
        return s().marketOrdersTimeoutBlocks;
    }

    function getTriggerTimeoutBlocks() external view returns (uint16) {
        return s().triggerTimeoutBlocks;
    }

    function getCurrentContractsVersion() external pure returns (uint8) {
        return VERSION_V10;
    }

    function getOracles() external view returns (address[] memory) {
        return s().oracles;
    }

    function getMinAnswers() external view returns (uint8) {
        return s().minAnswers;
    }

    function getRequestCount() external view returns (uint256) {
        return s().requestCount;
    }
}
