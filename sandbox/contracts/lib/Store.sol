// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";

/// All state of the Diamond. Facets share it through one slot, so that none of them owns a storage layout of its own.
library Store {
    struct Layout {
        // Routing
        bool initialised;
        mapping(bytes4 => address) facetOf;
        address[] facetList;
        mapping(address => bytes4[]) selectorsOf;
        mapping(address => bool) operators;
        // Delegation
        mapping(address => address) delegates;
        address senderOverride;
        bool locked;
        // Trading state
        uint8 tradingActivated;
        uint16 marketOrdersTimeoutBlocks;
        uint16 triggerTimeoutBlocks;
        uint8 minAnswers;
        address[] oracles;
        uint256 requestCount;
        address wrappedNative;
        bool nativeTransferDisabled;
        mapping(address => mapping(uint32 => Trade)) trades;
        mapping(address => mapping(uint32 => TradeInfo)) tradeInfos;
        mapping(address => mapping(uint32 => GroupLiquidationParams)) tradeLiquidationParams;
        mapping(address => mapping(uint32 => PendingOrder)) pendingOrders;
        mapping(address => mapping(uint32 => uint256)) pendingOrderTs;
        mapping(address => mapping(uint8 => Counter)) counters;
        mapping(address => mapping(uint32 => mapping(uint8 => uint256))) tradePendingOrderBlock;
        address[] traders;
        mapping(address => bool) traderStored;
        mapping(uint16 => uint64) lastPrice;
        // Collaterals
        uint8 collateralsCount;
        mapping(uint8 => Collateral) collaterals;
        mapping(uint8 => address) gTokens;
        mapping(uint8 => uint256) collateralPriceUsd;
        mapping(address => uint8) collateralIndex;
        // Pairs
        uint256 pairsCount;
        uint256 groupsCount;
        uint256 feesCount;
        mapping(uint256 => Pair) pairs;
        mapping(uint256 => Group) groups;
        mapping(uint256 => FeeGroup) fees;
        mapping(uint256 => uint256) pairCustomMaxLeverage;
        mapping(uint256 => GroupLiquidationParams) groupLiquidationParams;
        mapping(uint256 => uint24) counterTradeMaxLeverage;
        mapping(uint256 => uint16) counterTradeFeeRateMultiplier;
        mapping(uint8 => mapping(uint16 => PairFlags)) pairFlags;
        GlobalTradeFeeParams tradeFeeParams;
        // Price impact
        uint256 bandsMapping1;
        uint256 bandsMapping2;
        mapping(uint256 => PairDepthBands) depthBands;
        mapping(uint256 => PairFactors) pairFactors;
        OiWindowsSettings oiWindowsSettings;
        mapping(uint48 => mapping(uint256 => mapping(uint256 => PairOi))) windows;
        uint48 negPnlCumulVolMultiplier;
        mapping(address => mapping(uint256 => UserPriceImpact)) userPriceImpact;
        mapping(address => bool) protectionCloseFactorWhitelist;
        mapping(uint8 => mapping(uint16 => uint256)) skewDepth;
        // Open interest
        mapping(uint8 => mapping(uint16 => PairOiCollateral)) oiCollateral;
        mapping(uint8 => mapping(uint16 => PairOiToken)) oiToken;
        mapping(uint8 => mapping(uint16 => uint256)) maxOi;
        mapping(uint8 => mapping(uint16 => PairOiCollateral)) oiBeforeV10;
        mapping(uint8 => mapping(uint16 => uint16)) borrowingGroupOf;
        mapping(uint8 => mapping(uint16 => OpenInterest)) borrowingGroupOi;
        mapping(uint8 => mapping(uint16 => PairGlobalParams)) pairGlobalParams;
        // Holding fees
        mapping(uint8 => mapping(uint16 => FundingFeeParams)) fundingParams;
        mapping(uint8 => mapping(uint16 => PairFundingFeeData)) fundingData;
        mapping(uint8 => mapping(uint16 => BorrowingFeeParams)) borrowingParams;
        mapping(uint8 => mapping(uint16 => PairBorrowingFeeData)) borrowingData;
        mapping(address => mapping(uint32 => TradeFeesData)) tradeFeesData;
        mapping(address => mapping(uint32 => UiRealizedPnlData)) uiRealizedPnl;
        // Fee tiers and referrals
        FeeTier[] feeTiers;
        mapping(uint256 => uint256) groupVolumeMultiplier;
        mapping(address => TraderInfo) traderInfo;
        mapping(address => mapping(uint32 => TraderDailyInfo)) traderDaily;
        mapping(address => TraderEnrollment) enrollment;
        mapping(address => ReferrerDetails) referrers;
        mapping(address => address) referrerOf;
    }

    /// keccak256("diamond-gateway.sandbox.diamond")
    function state() internal pure returns (Layout storage s) {
        bytes32 slot = keccak256("diamond-gateway.sandbox.diamond");
        assembly ("memory-safe") {
            s.slot := slot
        }
    }
}
