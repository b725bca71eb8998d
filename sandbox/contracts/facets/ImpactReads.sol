// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "../lib/Types.sol";
import "../lib/Constants.sol";
import {Store} from "../lib/Store.sol";
import {Maths} from "../lib/Maths.sol";
import {Impact} from "../lib/Impact.sol";

/// Depth bands, volume windows and the price impact they cause.
contract ImpactReads {
    function s() private pure returns (Store.Layout storage) {
        return Store.state();
    }

    function decode(uint256 slot1, uint256 slot2) private pure returns (uint16[] memory bands) {
        bands = new uint16[](BANDS);
        for (uint256 i; i < BANDS; ++i) bands[i] = uint16(Maths.bandAt(slot1, slot2, i));
    }

    function getDepthBandsMapping() external view returns (uint256 slot1, uint256 slot2) {
        return (s().bandsMapping1, s().bandsMapping2);
    }

    function getDepthBandsMappingDecoded() external view returns (uint16[] memory bands) {
        return decode(s().bandsMapping1, s().bandsMapping2);
    }

    function getPairDepthBands(uint256 pairIndex) external view returns (PairDepthBands memory) {
        return s().depthBands[pairIndex];
    }

    function getPairDepthBandsArray(uint256[] calldata indices) external view returns (PairDepthBands[] memory list) {
        list = new PairDepthBands[](indices.length);
        for (uint256 i; i < list.length; ++i) list[i] = s().depthBands[indices[i]];
    }

    function getPairDepthBandsDecoded(uint256 pairIndex)
        public
        view
        returns (uint256 totalDepthAboveUsd, uint256 totalDepthBelowUsd, uint16[] memory bandsAbove, uint16[] memory bandsBelow)
    {
        PairDepthBands storage d = s().depthBands[pairIndex];
        return (uint32(d.aboveSlot1), uint32(d.belowSlot1), decode(d.aboveSlot1, d.aboveSlot2), decode(d.belowSlot1, d.belowSlot2));
    }

    function getPairDepthBandsDecodedArray(uint256[] calldata indices)
        external
        view
        returns (
            uint256[] memory totalDepthAboveUsd,
            uint256[] memory totalDepthBelowUsd,
            uint16[][] memory bandsAbove,
            uint16[][] memory bandsBelow
        )
    {
        totalDepthAboveUsd = new uint256[](indices.length);
        totalDepthBelowUsd = new uint256[](indices.length);
        bandsAbove = new uint16[][](indices.length);
        bandsBelow = new uint16[][](indices.length);
        for (uint256 i; i < indices.length; ++i) {
            (totalDepthAboveUsd[i], totalDepthBelowUsd[i], bandsAbove[i], bandsBelow[i]) = getPairDepthBandsDecoded(indices[i]);
        }
    }

    function getPairSkewDepth(uint8 collateralIndex, uint16 pairIndex) external view returns (uint256) {
        return s().skewDepth[collateralIndex][pairIndex];
    }

    function getPairSkewDepths(uint8[] calldata collateralIndices, uint16[] calldata pairIndices)
        external
        view
        returns (uint256[] memory list)
    {
        list = new uint256[](collateralIndices.length);
        for (uint256 i; i < list.length; ++i) list[i] = s().skewDepth[collateralIndices[i]][pairIndices[i]];
    }

    function getPairFactors(uint256[] calldata indices) external view returns (PairFactors[] memory list) {
        list = new PairFactors[](indices.length);
        for (uint256 i; i < list.length; ++i) list[i] = s().pairFactors[indices[i]];
    }

    function getOiWindowsSettings() external view returns (OiWindowsSettings memory) {
        return s().oiWindowsSettings;
    }

    function getOiWindow(uint48 windowsDuration, uint256 pairIndex, uint256 windowId) public view returns (PairOi memory) {
        return s().windows[windowsDuration == 0 ? s().oiWindowsSettings.windowsDuration : windowsDuration][pairIndex][windowId];
    }

    function getOiWindows(uint48 windowsDuration, uint256 pairIndex, uint256[] calldata windowIds)
        external
        view
        returns (PairOi[] memory list)
    {
        list = new PairOi[](windowIds.length);
        for (uint256 i; i < list.length; ++i) list[i] = getOiWindow(windowsDuration, pairIndex, windowIds[i]);
    }

    function getPriceImpactOi(uint256 pairIndex, bool long) external view returns (uint256 activeOi) {
        return Impact.activeVolume(pairIndex, long);
    }

    function getNegPnlCumulVolMultiplier() external view returns (uint48) {
        return s().negPnlCumulVolMultiplier;
    }

    function getUserPriceImpact(address trader, uint256 pairIndex) external view returns (UserPriceImpact memory) {
        return s().userPriceImpact[trader][pairIndex];
    }

    function getProtectionCloseFactorWhitelist(address trader) external view returns (bool) {
        return s().protectionCloseFactorWhitelist[trader];
    }

    function getTradeCumulVolPriceImpactP(
        address trader,
        uint16 pairIndex,
        bool long,
        uint256 tradeOpenInterestUsd,
        bool isPnlPositive,
        bool open,
        uint256 lastPosIncreaseBlock
    ) external view returns (int256 priceImpactP) {
        return Impact.volumeP(trader, pairIndex, long, tradeOpenInterestUsd, isPnlPositive, open, lastPosIncreaseBlock);
    }

    /// What the contract values a position at; inside the protocol it is a function of a library and has no selector.
    function sandboxMarketPrice(uint8 collateralIndex, uint16 pairIndex, uint64 price) external view returns (uint64) {
        return Impact.marketPriceIn(collateralIndex, pairIndex, price);
    }

    function getTradeSkewPriceImpactP(uint8 collateralIndex, uint16 pairIndex, bool long, uint256 positionSizeToken, bool open)
        external
        view
        returns (int256 priceImpactP)
    {
        return Impact.skewP(collateralIndex, pairIndex, long, positionSizeToken, open);
    }
}
