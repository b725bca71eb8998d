// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// The protocol's structs and errors, field for field: their ABI encoding is what clients decode.

struct Trade {
    address user;
    uint32 index;
    uint16 pairIndex;
    uint24 leverage;
    bool long;
    bool isOpen;
    uint8 collateralIndex;
    uint8 tradeType;
    uint120 collateralAmount;
    uint64 openPrice;
    uint64 tp;
    uint64 sl;
    bool isCounterTrade;
    uint160 positionSizeToken;
    uint24 __placeholder;
}

struct OrderAnswer {
    uint56 open;
    uint56 high;
    uint56 low;
    uint56 current;
    uint32 ts;
}

struct SignedPairPrices {
    uint8 signerId;
    uint32 expiryTs;
    bool isLookback;
    uint32 fromBlock;
    bytes signature;
    uint16[] pairIndices;
    OrderAnswer[] prices;
}

struct TradeInfo {
    uint32 createdBlock;
    uint32 tpLastUpdatedBlock;
    uint32 slLastUpdatedBlock;
    uint16 maxSlippageP;
    uint48 lastOiUpdateTs;
    uint48 collateralPriceUsd;
    uint8 contractsVersion;
    uint32 lastPosIncreaseBlock;
    uint8 __placeholder;
}

struct Id {
    address user;
    uint32 index;
}

struct PendingOrder {
    Trade trade;
    address user;
    uint32 index;
    bool isOpen;
    uint8 orderType;
    uint32 createdBlock;
    uint16 maxSlippageP;
}

struct Counter {
    uint32 currentIndex;
    uint32 openCount;
    uint192 __placeholder;
}

struct GroupLiquidationParams {
    uint40 maxLiqSpreadP;
    uint40 startLiqThresholdP;
    uint40 endLiqThresholdP;
    uint24 startLeverage;
    uint24 endLeverage;
}

struct Collateral {
    address collateral;
    bool isActive;
    uint88 __placeholder;
    uint128 precision;
    uint128 precisionDelta;
}

struct Feed {
    address feed1;
    address feed2;
    uint8 feedCalculation;
    uint256 maxDeviationP;
}

struct Pair {
    string from;
    string to;
    Feed feed;
    uint256 spreadP;
    uint256 groupIndex;
    uint256 feeIndex;
}

struct Group {
    string name;
    bytes32 job;
    uint256 minLeverage;
    uint256 maxLeverage;
}

struct FeeGroup {
    uint40 totalPositionSizeFeeP;
    uint40 totalLiqCollateralFeeP;
    uint40 oraclePositionSizeFeeP;
    uint32 minPositionSizeUsd;
    uint104 __placeholder;
}

struct PairFlags {
    bool skipBurn;
    bool skipFeeTierMultiplier;
    bool skipFeeTierMultiplierCounterTrade;
    uint232 __placeholder;
}

struct GlobalTradeFeeParams {
    uint24 referralFeeP;
    uint24 govFeeP;
    uint24 triggerOrderFeeP;
    uint24 gnsOtcFeeP;
    uint24 gTokenFeeP;
    uint24 gTokenOcFeeP;
    uint112 __placeholder;
}

struct PairDepthBands {
    uint256 aboveSlot1;
    uint256 aboveSlot2;
    uint256 belowSlot1;
    uint256 belowSlot2;
}

struct PairFactors {
    uint40 protectionCloseFactor;
    uint32 protectionCloseFactorBlocks;
    uint40 cumulativeFactor;
    bool exemptOnOpen;
    bool exemptAfterProtectionCloseFactor;
    uint128 __placeholder;
}

struct OiWindowsSettings {
    uint48 startTs;
    uint48 windowsDuration;
    uint48 windowsCount;
}

struct PairOi {
    uint128 oiLongUsd;
    uint128 oiShortUsd;
}

struct UserPriceImpact {
    uint16 cumulVolPriceImpactMultiplier;
    uint16 fixedSpreadP;
    uint224 __placeholder;
}

struct PairOiCollateral {
    uint128 oiLongCollateral;
    uint128 oiShortCollateral;
}

struct PairOiToken {
    uint128 oiLongToken;
    uint128 oiShortToken;
}

struct OpenInterest {
    uint72 long;
    uint72 short;
    uint72 max;
    uint40 __placeholder;
}

struct TradeHoldingFees {
    int256 fundingFeeCollateral;
    uint256 borrowingFeeCollateral;
    uint256 borrowingFeeCollateral_old;
    int256 totalFeeCollateral;
}

struct BorrowingFeeInput {
    uint8 collateralIndex;
    address trader;
    uint16 pairIndex;
    uint32 index;
    bool long;
    uint256 collateral;
    uint256 leverage;
    uint256 currentPairPrice;
}

struct TradeFeesData {
    uint128 realizedTradingFeesCollateral;
    int128 realizedPnlCollateral;
    uint128 manuallyRealizedNegativePnlCollateral;
    uint128 alreadyTransferredNegativePnlCollateral;
    uint128 virtualAvailableCollateralInDiamond;
    uint128 __placeholder;
    int128 initialAccFundingFeeP;
    uint128 initialAccBorrowingFeeP;
}

struct UiRealizedPnlData {
    uint128 realizedTradingFeesCollateral;
    uint128 realizedOldBorrowingFeesCollateral;
    uint128 realizedNewBorrowingFeesCollateral;
    int128 realizedFundingFeesCollateral;
    int128 realizedPnlPartialCloseCollateral;
    uint128 pnlWithdrawnCollateral;
}

struct FundingFeeParams {
    uint112 skewCoefficientPerYear;
    uint24 absoluteVelocityPerYearCap;
    uint24 absoluteRatePerSecondCap;
    uint32 thetaThresholdUsd;
    bool fundingFeesEnabled;
    bool aprMultiplierEnabled;
    uint48 __placeholder;
}

struct PairFundingFeeData {
    int128 accFundingFeeLongP;
    int128 accFundingFeeShortP;
    int56 lastFundingRatePerSecondP;
    uint32 lastFundingUpdateTs;
    uint168 __placeholder;
}

struct BorrowingFeeParams {
    uint24 borrowingRatePerSecondP;
    uint232 __placeholder;
}

struct PairBorrowingFeeData {
    uint128 accBorrowingFeeP;
    uint32 lastBorrowingUpdateTs;
    uint96 __placeholder;
}

struct PairGlobalParams {
    uint80 maxSkewCollateral;
    uint176 __placeholder;
}

struct LiqPriceInput {
    uint8 collateralIndex;
    address trader;
    uint16 pairIndex;
    uint32 index;
    uint64 openPrice;
    bool long;
    uint256 collateral;
    uint256 leverage;
    int256 additionalFeeCollateral;
    GroupLiquidationParams liquidationParams;
    uint64 currentPairPrice;
    bool isCounterTrade;
    uint256 partialCloseMultiplier;
    bool beforeOpened;
}

struct TradePriceImpact {
    uint256 positionSizeToken;
    int256 fixedSpreadP;
    int256 cumulVolPriceImpactP;
    int256 skewPriceImpactP;
    int256 totalPriceImpactP;
    uint64 priceAfterImpact;
}

struct Values {
    int256 profitP;
    uint256 executionPrice;
    uint256 executionPriceRaw;
    uint256 liqPrice;
    uint256 amountSentToTrader;
    uint256 collateralPriceUsd;
    bool exactExecution;
    uint32 limitIndex;
    TradePriceImpact priceImpact;
    uint8 cancelReason;
    uint256 collateralToReturn;
    uint120 newCollateralAmount;
    uint256 newEffectiveLeverage;
    uint256 pnlWithdrawnCollateral;
    uint256 openingFeeCollateral;
}

struct FeeTier {
    uint32 feeMultiplier;
    uint32 pointsThreshold;
}

struct TraderInfo {
    uint32 lastDayUpdated;
    uint224 trailingPoints;
}

struct TraderDailyInfo {
    uint32 feeMultiplierCache;
    uint224 points;
}

struct TraderEnrollment {
    uint8 status;
    uint248 __placeholder;
}

struct ReferrerDetails {
    address ally;
    address[] tradersReferred;
    uint256 volumeReferredUsd;
    uint256 pendingRewardsGns;
    uint256 totalRewardsGns;
    uint256 totalRewardsValueUsd;
    bool active;
}

struct UpdateLeverageValues {
    uint256 newLeverage;
    uint256 newCollateralAmount;
    uint256 existingLiqPrice;
    uint256 newLiqPrice;
    uint256 govFeeCollateral;
    uint256 newEffectiveLeverage;
    uint256 totalTradeAvailableCollateralInDiamond;
    uint256 availableCollateralInDiamond;
}

struct IncreasePositionSizeValues {
    uint256 positionSizeCollateralDelta;
    uint256 existingPositionSizeCollateral;
    uint256 newPositionSizeCollateral;
    uint256 newCollateralAmount;
    uint256 newLeverage;
    TradePriceImpact priceImpact;
    int256 existingPnlCollateral;
    uint256 oldPosSizePlusPnlCollateral;
    uint256 newOpenPrice;
    uint256 openingFeesCollateral;
    uint256 existingLiqPrice;
    uint256 newLiqPrice;
    bool isCounterTradeValidated;
    uint256 exceedingPositionSizeCollateral;
    uint256 counterTradeCollateralToReturn;
    uint256 newEffectiveLeverage;
}

struct DecreasePositionSizeValues {
    bool isLeverageUpdate;
    uint256 positionSizeCollateralDelta;
    uint256 existingPositionSizeCollateral;
    uint256 existingLiqPrice;
    uint256 newLiqPrice;
    TradePriceImpact priceImpact;
    int256 existingPnlPercent;
    int256 partialRawPnlCollateral;
    int256 partialNetPnlCollateral;
    int256 pnlToRealizeCollateral;
    uint256 closingFeeCollateral;
    uint256 totalAvailableCollateralInDiamond;
    int256 availableCollateralInDiamond;
    int256 collateralSentToTrader;
    uint120 newCollateralAmount;
    uint24 newLeverage;
}

struct AggregatorAnswer {
    Id orderId;
    uint64 open;
    uint64 high;
    uint64 low;
    uint64 current;
}

struct Facet {
    address facetAddress;
    bytes4[] functionSelectors;
}

error DelegateNotApproved();
error DelegatedActionNotAllowed();
error Paused();
error InsufficientCollateral();
error WrongLeverage();
error WrongTradeType();
error WrongOrderType();
error PriceImpactTooHigh();
error BelowMin();
error AboveMax();
error ZeroValue();
error ZeroAddress();
error Overflow();
error MaxSlippageZero();
error TradePairNotListed();
error PairNotListed();
error TradePositionSizeZero();
error TradeOpenPriceZero();
error TradeTpInvalid();
error TradeSlInvalid();
error InvalidCollateralIndex();
error DoesntExist();
error NoTrade();
error NoOrder();
error WaitTimeout();
error PendingTrigger();
error ConflictingPendingOrder(uint8);
error InvalidIncreasePositionSizeInput();
error InvalidDecreasePositionSizeInput();
error NotAuthorized();
error NotWrappedNativeToken();
error NoSl();
error NoTp();
error ReentrancyGuardReentrantCall();
error NotFound();
error WrongAccess();
error PendingOrderNotOpen();
error InvalidCandle();
error SourceNotOracleOfRequest();
error WrongFromBlock();
error MinAnswersNotReached();
error UnsupportedChain();
error WrongParams();
error WrongLength();
error AlreadyBeingMarketClosed();
error CollateralNotActive();
error PriceZero();
error WrongTp();
error WrongSl();
error NotYourOrder();
error NewPositionSizeSmaller();
error TradeInfoCollateralPriceUsdZero();
error BorrowingZeroGroup();
