// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";

/// The protocol's events with their real topics; emitted from the libraries as `Events.Name(...)`.
library Events {
    event MarketOrderInitiated(Id orderId, address indexed trader, uint16 indexed pairIndex, bool open);
    event OpenOrderPlaced(address indexed trader, uint16 indexed pairIndex, uint32 indexed index);
    event OpenLimitUpdated(
        address indexed trader,
        uint16 indexed pairIndex,
        uint32 indexed index,
        uint64 newPrice,
        uint64 newTp,
        uint64 newSl,
        uint64 maxSlippageP
    );
    event OpenLimitCanceled(address indexed trader, uint16 indexed pairIndex, uint32 indexed index);
    event OpenOrderDetailsUpdated(address indexed user, uint32 indexed index, uint64 openPrice, uint64 tp, uint64 sl, uint16 maxSlippageP);
    event PendingOrderStored(PendingOrder pendingOrder);
    event PendingOrderClosed(Id orderId);
    event MarketExecuted(
        Id orderId,
        address indexed user,
        uint32 indexed index,
        Trade t,
        bool open,
        uint256 oraclePrice,
        uint256 marketPrice,
        uint256 liqPrice,
        TradePriceImpact priceImpact,
        int256 percentProfit,
        uint256 amountSentToTrader,
        uint256 collateralPriceUsd
    );
    event MarketOpenCanceled(Id orderId, address indexed trader, uint256 indexed pairIndex, uint8 cancelReason, uint256 collateralReturned);
    event MarketCloseCanceled(Id orderId, address indexed trader, uint256 indexed pairIndex, uint256 indexed index, uint8 cancelReason);
    event LimitExecuted(
        Id orderId,
        address indexed user,
        uint32 indexed index,
        uint32 indexed limitIndex,
        Trade t,
        address triggerCaller,
        uint8 orderType,
        uint256 oraclePrice,
        uint256 marketPrice,
        uint256 liqPrice,
        TradePriceImpact priceImpact,
        int256 percentProfit,
        uint256 amountSentToTrader,
        uint256 collateralPriceUsd,
        bool exactExecution
    );
    event TriggerOrderInitiated(Id orderId, address indexed trader, uint16 indexed pairIndex, bool byPassesLinkCost);
    event TriggerOrderCanceled(Id orderId, address indexed triggerCaller, uint8 orderType, uint8 cancelReason);
    event ChainlinkCallbackTimeout(Id pendingOrderId, uint256 indexed pairIndex);
    event CollateralReturnedAfterTimeout(
        Id pendingOrderId,
        uint8 indexed collateralIndex,
        address indexed trader,
        uint256 collateralAmount
    );
    event CounterTradeCollateralReturned(Id orderId, uint8 indexed collateralIndex, address indexed trader, uint256 collateralReturned);
    event TradeStored(
        address indexed user,
        uint32 indexed index,
        Trade trade,
        TradeInfo tradeInfo,
        GroupLiquidationParams liquidationParams
    );
    event TradePositionUpdated(
        address indexed user,
        uint32 indexed index,
        uint120 collateralAmount,
        uint24 leverage,
        uint64 openPrice,
        uint64 newSl,
        uint160 newPositionSizeToken,
        uint8 pendingOrderType,
        bool isPnlPositive
    );
    event TradeClosed(address indexed user, uint32 indexed index, bool isPnlPositive);
    event TradeTpUpdated(address indexed user, uint32 indexed index, uint64 newTp);
    event TradeSlUpdated(address indexed user, uint32 indexed index, uint64 newSl);
    event TradeMaxClosingSlippagePUpdated(address indexed user, uint32 indexed index, uint16 maxClosingSlippageP);
    event LeverageUpdateInitiated(
        Id orderId,
        address indexed trader,
        uint256 indexed pairIndex,
        uint256 indexed index,
        bool isIncrease,
        uint256 newLeverage
    );
    event LeverageUpdateExecuted(
        Id orderId,
        bool isIncrease,
        uint8 cancelReason,
        uint8 indexed collateralIndex,
        address indexed trader,
        uint256 pairIndex,
        uint256 indexed index,
        uint256 oraclePrice,
        uint256 collateralDelta,
        UpdateLeverageValues values
    );
    event PositionSizeUpdateInitiated(
        Id orderId,
        address indexed trader,
        uint256 indexed pairIndex,
        uint256 indexed index,
        bool isIncrease,
        uint256 collateralDelta,
        uint256 leverageDelta
    );
    event PositionSizeIncreaseExecuted(
        Id orderId,
        uint8 cancelReason,
        uint8 indexed collateralIndex,
        address indexed trader,
        uint256 pairIndex,
        uint256 indexed index,
        bool long,
        uint256 oraclePrice,
        uint256 collateralPriceUsd,
        uint256 collateralDelta,
        uint256 leverageDelta,
        IncreasePositionSizeValues values
    );
    event PositionSizeDecreaseExecuted(
        Id orderId,
        uint8 cancelReason,
        uint8 indexed collateralIndex,
        address indexed trader,
        uint256 pairIndex,
        uint256 indexed index,
        bool long,
        uint256 oraclePrice,
        uint256 collateralPriceUsd,
        uint256 collateralDelta,
        uint256 leverageDelta,
        DecreasePositionSizeValues values
    );
    event PositivePnlWithdrawalInitiated(Id orderId, address indexed trader, uint32 indexed index, uint256 amountCollateral);
    event TradePositivePnlWithdrawn(
        Id orderId,
        uint8 indexed collateralIndex,
        address indexed trader,
        uint32 indexed index,
        TradePriceImpact priceImpact,
        int256 pnlPercent,
        int256 withdrawablePositivePnlCollateral,
        uint256 currentPairPrice,
        uint256 pnlInputCollateral,
        uint256 pnlWithdrawnCollateral
    );
    event TradeValueTransferred(
        uint8 indexed collateralIndex,
        address indexed trader,
        uint32 indexed index,
        int256 collateralSentToTrader,
        int256 availableCollateralInDiamond
    );
    event FeesProcessed(
        uint8 indexed collateralIndex,
        address indexed trader,
        uint256 positionSizeCollateral,
        uint8 orderType,
        uint256 totalFeesCollateral
    );
    event TradingFeesRealized(
        uint8 indexed collateralIndex,
        address indexed trader,
        uint32 indexed index,
        uint256 tradingFeesCollateral,
        uint256 finalTradingFeesCollateral,
        uint256 newRealizedFeesCollateral,
        int256 newRealizedPnlCollateral,
        uint256 amountSentFromVaultCollateral
    );
    event HoldingFeesChargedOnTrade(
        uint8 indexed collateralIndex,
        address indexed trader,
        uint32 indexed index,
        uint64 currentPairPrice,
        TradeHoldingFees tradeHoldingFees,
        uint256 availableCollateralInDiamond,
        uint256 amountSentToVaultCollateral,
        uint256 newRealizedTradingFeesCollateral,
        int256 newRealizedPnlCollateral
    );
    event HoldingFeesRealizedOnTrade(
        uint8 indexed collateralIndex,
        address indexed trader,
        uint32 indexed index,
        uint64 currentPairPrice,
        TradeHoldingFees tradeHoldingFees,
        int256 newRealizedPnlCollateral
    );
    event PriceRequested(
        uint8 indexed collateralIndex,
        uint256 indexed pairIndex,
        PendingOrder pendingOrder,
        uint256 positionSizeCollateral,
        uint256 fromBlock,
        bool isCounterTrade,
        bool isLookback,
        bytes32 job,
        uint256 linkFeePerNode,
        uint256 nodesCount
    );
    event PriceReceived(
        Id orderId,
        uint16 indexed pairIndex,
        bytes32 request,
        uint256 priceData,
        bool isLookback,
        bool usedInMedian,
        bool minAnswersReached,
        bool minFilteredAnswersReached,
        OrderAnswer[] unfilteredAnswers,
        OrderAnswer[] filteredAnswers
    );
    event TradingCallbackExecuted(AggregatorAnswer a, uint8 orderType);
    event SignedPricesReceived(
        uint16 indexed pairIndex,
        bool isLookback,
        uint32 fromBlock,
        bool minFilteredAnswersReached,
        OrderAnswer[] unfilteredAnswers,
        OrderAnswer[] filteredAnswers
    );
    event TradingActivatedUpdated(uint8 activated);
    event MarketOrdersTimeoutBlocksUpdated(uint256 newValueBlocks);
    event CollateralAdded(address collateral, uint8 index, address gToken);
    event CollateralUpdated(uint8 indexed index, bool isActive);
    event PairAdded(uint256 index, string from, string to);
    event PairUpdated(uint256 index);
    event GroupUpdated(uint256 index);
    event FeeUpdated(uint256 index, FeeGroup feeGroup);
    event PairCustomMaxLeverageUpdated(uint256 indexed index, uint256 maxLeverage);
    event PairDepthBandsUpdated(uint256 indexed pairIndex, uint256 aboveSlot1, uint256 aboveSlot2, uint256 belowSlot1, uint256 belowSlot2);
    event DepthBandsMappingUpdated(uint256 slot1, uint256 slot2);
    event PairOiAfterV10Updated(
        uint8 indexed collateralIndex,
        uint16 indexed pairIndex,
        uint256 oiDeltaCollateral,
        uint256 oiDeltaToken,
        bool open,
        bool long,
        PairOiCollateral newOiCollateral,
        PairOiToken newOiToken
    );
    event PendingAccFundingFeesStored(uint8 indexed collateralIndex, uint16 indexed pairIndex, PairFundingFeeData data);
    event PendingAccBorrowingFeesStored(uint8 indexed collateralIndex, uint16 indexed pairIndex, PairBorrowingFeeData data);
    event ReferrerRegistered(address indexed trader, address indexed referrer);
    event ReferrerRewardDistributed(
        address indexed referrer,
        address indexed trader,
        uint256 volumeUsd,
        uint256 amountGns,
        uint256 amountValueUsd
    );
    event AllyRewardDistributed(
        address indexed ally,
        address indexed trader,
        uint256 volumeUsd,
        uint256 amountGns,
        uint256 amountValueUsd
    );
    event ReferrerRewardsClaimed(address indexed referrer, uint256 amountGns);
    event ChainlinkRequested(bytes32 indexed id);
    event ChainlinkFulfilled(bytes32 indexed id);
}
