// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "../lib/Types.sol";
import {Store} from "../lib/Store.sol";
import {Markets} from "../lib/Markets.sol";

/// Collaterals, pairs, groups, fees and open interest.
contract PairReads {
    function s() private pure returns (Store.Layout storage) {
        return Store.state();
    }

    function getCollaterals() external view returns (Collateral[] memory list) {
        list = new Collateral[](s().collateralsCount);
        for (uint8 i; i < list.length; ++i) list[i] = s().collaterals[i + 1];
    }

    function getCollateral(uint8 index) external view returns (Collateral memory) {
        return s().collaterals[index];
    }

    function getCollateralIndex(address collateral) external view returns (uint8) {
        return s().collateralIndex[collateral];
    }

    function getCollateralsCount() external view returns (uint8) {
        return s().collateralsCount;
    }

    function isCollateralActive(uint8 index) external view returns (bool) {
        return s().collaterals[index].isActive;
    }

    function getCollateralPriceUsd(uint8 collateralIndex) external view returns (uint256) {
        return Markets.priceUsd(collateralIndex);
    }

    function getUsdNormalizedValue(uint8 collateralIndex, uint256 collateralValue) external view returns (uint256) {
        return Markets.toUsd(collateralIndex, collateralValue);
    }

    function getCollateralFromUsdNormalizedValue(uint8 collateralIndex, uint256 normalizedValue) external view returns (uint256) {
        return Markets.fromUsd(collateralIndex, normalizedValue);
    }

    function getGToken(uint8 collateralIndex) external view returns (address) {
        return s().gTokens[collateralIndex];
    }

    function getWrappedNativeToken() external view returns (address) {
        return s().wrappedNative;
    }

    function isWrappedNativeToken(address token) external view returns (bool) {
        return token != address(0) && token == s().wrappedNative;
    }

    /// Whether payouts of wrapped native tokens are unwrapped.
    function getNativeTransferEnabled() external view returns (bool) {
        return !s().nativeTransferDisabled;
    }

    function pairsCount() external view returns (uint256) {
        return s().pairsCount;
    }

    function pairs(uint256 index) external view returns (Pair memory) {
        return s().pairs[index];
    }

    function groupsCount() external view returns (uint256) {
        return s().groupsCount;
    }

    function groups(uint256 index) external view returns (Group memory) {
        return s().groups[index];
    }

    function feesCount() external view returns (uint256) {
        return s().feesCount;
    }

    function fees(uint256 index) external view returns (FeeGroup memory) {
        return s().fees[index];
    }

    function isPairListed(string calldata from, string calldata to) external view returns (bool) {
        bytes32 wanted = keccak256(abi.encode(from, to));
        for (uint256 i; i < s().pairsCount; ++i) {
            if (Markets.isListed(i) && keccak256(abi.encode(s().pairs[i].from, s().pairs[i].to)) == wanted) return true;
        }
        return false;
    }

    function isPairIndexListed(uint256 pairIndex) external view returns (bool) {
        return Markets.isListed(pairIndex);
    }

    function pairMinLeverage(uint256 pairIndex) external view returns (uint256) {
        return Markets.group(pairIndex).minLeverage;
    }

    function pairMaxLeverage(uint256 pairIndex) external view returns (uint256) {
        return Markets.maxLeverage(pairIndex);
    }

    function pairCustomMaxLeverage(uint256 pairIndex) external view returns (uint256) {
        return s().pairCustomMaxLeverage[pairIndex];
    }

    function getAllPairsRestrictedMaxLeverage() external view returns (uint256[] memory list) {
        list = new uint256[](s().pairsCount);
        for (uint256 i; i < list.length; ++i) list[i] = s().pairCustomMaxLeverage[i];
    }

    function pairMinPositionSizeUsd(uint256 pairIndex) external view returns (uint256) {
        return Markets.minPositionUsd(pairIndex);
    }

    function pairMinFeeUsd(uint256 pairIndex) external view returns (uint256) {
        return Markets.minFeeUsd(pairIndex);
    }

    function pairTotalPositionSizeFeeP(uint256 pairIndex) external view returns (uint256) {
        return Markets.feeGroup(pairIndex).totalPositionSizeFeeP;
    }

    function pairTotalLiqCollateralFeeP(uint256 pairIndex) external view returns (uint256) {
        return Markets.feeGroup(pairIndex).totalLiqCollateralFeeP;
    }

    function getEffectiveTotalPositionSizeFeeP(uint16 pairIndex, bool isCounterTrade) external view returns (uint256) {
        uint256 feeP = Markets.feeGroup(pairIndex).totalPositionSizeFeeP;
        return isCounterTrade ? (feeP * Markets.counterTradeFeeMultiplier(pairIndex)) / 1e3 : feeP;
    }

    function pairSpreadP(address trader, uint256 pairIndex) external view returns (uint256) {
        return Markets.spreadP(trader, pairIndex);
    }

    function pairSpreadPArray(address[] calldata trader, uint256[] calldata pairIndex) external view returns (uint256[] memory list) {
        if (trader.length != pairIndex.length) revert WrongLength();
        list = new uint256[](trader.length);
        for (uint256 i; i < list.length; ++i) list[i] = Markets.spreadP(trader[i], pairIndex[i]);
    }

    function getPairLiquidationParams(uint256 pairIndex) external view returns (GroupLiquidationParams memory) {
        return Markets.liquidationParams(pairIndex);
    }

    function getGroupLiquidationParams(uint256 groupIndex) external view returns (GroupLiquidationParams memory) {
        return s().groupLiquidationParams[groupIndex];
    }

    function getPairCounterTradeMaxLeverage(uint16 pairIndex) external view returns (uint24) {
        return s().counterTradeMaxLeverage[pairIndex];
    }

    function getPairCounterTradeFeeRateMultiplier(uint16 pairIndex) external view returns (uint16) {
        return uint16(Markets.counterTradeFeeMultiplier(pairIndex));
    }

    function getPairFlags(uint8 collateralIndex, uint16 pairIndex) external view returns (PairFlags memory) {
        return s().pairFlags[collateralIndex][pairIndex];
    }

    function getTradeFeeParams(uint8, uint16) external view returns (GlobalTradeFeeParams memory) {
        return s().tradeFeeParams;
    }

    /// Every trade here is of the current release.
    function getPairOisBeforeV10Collateral(uint8 collateralIndex, uint16 pairIndex) external view returns (uint256 longOi, uint256 shortOi) {
        PairOiCollateral storage oi = s().oiBeforeV10[collateralIndex][pairIndex];
        return (oi.oiLongCollateral, oi.oiShortCollateral);
    }

    function getPairOiAfterV10Collateral(uint8 collateralIndex, uint16 pairIndex) external view returns (PairOiCollateral memory) {
        return s().oiCollateral[collateralIndex][pairIndex];
    }

    function getPairOiAfterV10Token(uint8 collateralIndex, uint16 pairIndex) external view returns (PairOiToken memory) {
        return s().oiToken[collateralIndex][pairIndex];
    }

    function getPairOisAfterV10Collateral(uint8[] calldata collateralIndex, uint16[] calldata pairIndex)
        external
        view
        returns (PairOiCollateral[] memory list)
    {
        list = new PairOiCollateral[](collateralIndex.length);
        for (uint256 i; i < list.length; ++i) list[i] = s().oiCollateral[collateralIndex[i]][pairIndex[i]];
    }

    function getPairOisAfterV10Token(uint8[] calldata collateralIndex, uint16[] calldata pairIndex)
        external
        view
        returns (PairOiToken[] memory list)
    {
        list = new PairOiToken[](collateralIndex.length);
        for (uint256 i; i < list.length; ++i) list[i] = s().oiToken[collateralIndex[i]][pairIndex[i]];
    }

    function getPairMaxOi(uint8 collateralIndex, uint16 pairIndex) external view returns (uint256) {
        return s().maxOi[collateralIndex][pairIndex];
    }

    function getPairMaxOiCollateral(uint8 collateralIndex, uint16 pairIndex) external view returns (uint256) {
        return Markets.maxOiCollateral(collateralIndex, pairIndex);
    }

    function getMaxSkewCollateral(uint8 collateralIndex, uint16 pairIndex) external view returns (uint80) {
        return s().pairGlobalParams[collateralIndex][pairIndex].maxSkewCollateral;
    }

    function withinMaxBorrowingGroupOi(uint8 collateralIndex, uint16 pairIndex, bool long, uint256 positionSizeCollateral)
        external
        view
        returns (bool)
    {
        return Markets.withinGroupOi(collateralIndex, pairIndex, long, positionSizeCollateral);
    }

    function getBorrowingPairGroupIndex(uint8 collateralIndex, uint16 pairIndex) external view returns (uint16 groupIndex) {
        return s().borrowingGroupOf[collateralIndex][pairIndex];
    }

    function getBorrowingGroupOi(uint8 collateralIndex, uint16 groupIndex) external view returns (OpenInterest memory) {
        return s().borrowingGroupOi[collateralIndex][groupIndex];
    }
}
