// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "../lib/Types.sol";
import {Store} from "../lib/Store.sol";
import {Fees} from "../lib/Fees.sol";
import {Funding} from "../lib/Funding.sol";
import {Holding} from "../lib/Holding.sol";
import {Referrals} from "../lib/Referrals.sol";

/// Holding fees, liquidation, fee tiers and referrals.
contract FeeReads {
    function s() private pure returns (Store.Layout storage) {
        return Store.state();
    }

    function getTradePendingHoldingFeesCollateral(address trader, uint32 index, uint64 currentPairPrice)
        external
        view
        returns (TradeHoldingFees memory tradeHoldingFees)
    {
        return Holding.pending(s().trades[trader][index], currentPairPrice);
    }

    function getTradeFundingFeesCollateral(address trader, uint32 index, uint64 currentPairPrice) external view returns (int256) {
        return Holding.fundingOf(s().trades[trader][index], currentPairPrice);
    }

    function getTradeBorrowingFeesCollateral(address trader, uint32 index, uint64 currentPairPrice) external view returns (uint256) {
        return Holding.borrowingOf(s().trades[trader][index], currentPairPrice);
    }

    /// Borrowing v1 has no rate here.
    function getTradeBorrowingFee(BorrowingFeeInput calldata) external pure returns (uint256 feeAmountCollateral) {
        return 0;
    }

    function getTradeFeesData(address trader, uint32 index) external view returns (TradeFeesData memory) {
        return s().tradeFeesData[trader][index];
    }

    function getTradeFeesDataArray(address[] calldata trader, uint32[] calldata index) external view returns (TradeFeesData[] memory list) {
        if (trader.length != index.length) revert WrongLength();
        list = new TradeFeesData[](trader.length);
        for (uint256 i; i < list.length; ++i) list[i] = s().tradeFeesData[trader[i]][index[i]];
    }

    function getTradeRealizedPnlCollateral(address trader, uint32 index)
        external
        view
        returns (int256 realizedPnlCollateral, uint256 realizedTradingFeesCollateral, int256 totalRealizedPnlCollateral)
    {
        TradeFeesData storage d = s().tradeFeesData[trader][index];
        return (d.realizedPnlCollateral, d.realizedTradingFeesCollateral, Holding.realized(trader, index));
    }

    function getTradeUiRealizedPnlDataArray(address[] calldata trader, uint32[] calldata index)
        external
        view
        returns (UiRealizedPnlData[] memory list)
    {
        if (trader.length != index.length) revert WrongLength();
        list = new UiRealizedPnlData[](trader.length);
        for (uint256 i; i < list.length; ++i) list[i] = s().uiRealizedPnl[trader[i]][index[i]];
    }

    function getPairFundingFeeParams(uint8[] calldata collateralIndex, uint16[] calldata pairIndex)
        external
        view
        returns (FundingFeeParams[] memory list)
    {
        list = new FundingFeeParams[](collateralIndex.length);
        for (uint256 i; i < list.length; ++i) list[i] = s().fundingParams[collateralIndex[i]][pairIndex[i]];
    }

    function getPairFundingFeeData(uint8[] calldata collateralIndex, uint16[] calldata pairIndex)
        external
        view
        returns (PairFundingFeeData[] memory list)
    {
        list = new PairFundingFeeData[](collateralIndex.length);
        for (uint256 i; i < list.length; ++i) list[i] = s().fundingData[collateralIndex[i]][pairIndex[i]];
    }

    function getPairBorrowingFeeParams(uint8[] calldata collateralIndex, uint16[] calldata pairIndex)
        external
        view
        returns (BorrowingFeeParams[] memory list)
    {
        list = new BorrowingFeeParams[](collateralIndex.length);
        for (uint256 i; i < list.length; ++i) list[i] = s().borrowingParams[collateralIndex[i]][pairIndex[i]];
    }

    function getPairBorrowingFeeData(uint8[] calldata collateralIndex, uint16[] calldata pairIndex)
        external
        view
        returns (PairBorrowingFeeData[] memory list)
    {
        list = new PairBorrowingFeeData[](collateralIndex.length);
        for (uint256 i; i < list.length; ++i) list[i] = s().borrowingData[collateralIndex[i]][pairIndex[i]];
    }

    function getPairGlobalParamsArray(uint8[] calldata collateralIndex, uint16[] calldata pairIndex)
        external
        view
        returns (PairGlobalParams[] memory list)
    {
        list = new PairGlobalParams[](collateralIndex.length);
        for (uint256 i; i < list.length; ++i) list[i] = s().pairGlobalParams[collateralIndex[i]][pairIndex[i]];
    }

    function getPairPendingAccFundingFees(uint8 collateralIndex, uint16 pairIndex, uint64 currentPairPrice)
        external
        view
        returns (int128 accFundingFeeLongP, int128 accFundingFeeShortP, int56 currentFundingRatePerSecondP)
    {
        return Funding.pendingFunding(collateralIndex, pairIndex, currentPairPrice);
    }

    function getPairPendingAccBorrowingFees(uint8 collateralIndex, uint16 pairIndex, uint64 currentPairPrice)
        external
        view
        returns (uint128 accBorrowingFeeP)
    {
        return Funding.pendingBorrowing(collateralIndex, pairIndex, currentPairPrice);
    }

    function getTradeLiquidationPrice(LiqPriceInput memory input) external view returns (uint256) {
        return Holding.liquidationPrice(input);
    }

    function calculateFeeAmount(address trader, uint256 normalFeeAmountCollateral) external view returns (uint256) {
        return Fees.discounted(trader, normalFeeAmountCollateral);
    }

    function getFeeTiers() external view returns (FeeTier[] memory) {
        return s().feeTiers;
    }

    function getFeeTiersTraderInfo(address trader) external view returns (TraderInfo memory) {
        return s().traderInfo[trader];
    }

    function getFeeTiersTraderDailyInfo(address trader, uint32 day) external view returns (TraderDailyInfo memory) {
        return s().traderDaily[trader][day];
    }

    function getTraderFeeTiersEnrollment(address trader) external view returns (TraderEnrollment memory) {
        return s().enrollment[trader];
    }

    /// A referrer keeps the traders it brought only while it is whitelisted.
    function getTraderActiveReferrer(address trader) external view returns (address) {
        address referrer = s().referrerOf[trader];
        return s().referrers[referrer].active ? referrer : address(0);
    }

    function getTraderLastReferrer(address trader) external view returns (address) {
        return s().referrerOf[trader];
    }

    function getReferrerFeeProgressP(address referrer) external view returns (uint256) {
        return Referrals.feeProgressP(referrer);
    }

    function getReferrerDetails(address referrer) external view returns (ReferrerDetails memory) {
        return s().referrers[referrer];
    }
}
