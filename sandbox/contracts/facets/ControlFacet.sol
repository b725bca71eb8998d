// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "../lib/Types.sol";
import "../lib/Constants.sol";
import {Store} from "../lib/Store.sol";
import {Access} from "../lib/Access.sol";
import {Routing} from "../lib/Routing.sol";
import {Funding} from "../lib/Funding.sol";
import {Ledger} from "../lib/Ledger.sol";
import {Events} from "../lib/Events.sol";

struct CollateralSetting {
    address token;
    address gToken;
    bool isActive;
    uint8 decimals;
    uint256 priceUsd;
}

struct PairSetting {
    uint256 pairIndex;
    string from;
    string to;
    uint256 spreadP;
    uint256 groupIndex;
    uint256 feeIndex;
    uint256 customMaxLeverage;
}

struct MarketSetting {
    uint8 collateralIndex;
    uint16 pairIndex;
    uint256 maxOi;
    uint256 skewDepth;
    uint80 maxSkewCollateral;
    uint16 borrowingGroup;
    FundingFeeParams funding;
    uint24 borrowingRatePerSecondP;
    /// What fees accrued under the old parameters are valued at.
    uint64 price;
}

/// Everything governance decides on the real Diamond, under names no real selector has.
contract ControlFacet is Access {
    function s() private pure returns (Store.Layout storage) {
        return Store.state();
    }

    function facets() external view returns (Facet[] memory list) {
        list = new Facet[](s().facetList.length);
        for (uint256 i; i < list.length; ++i) list[i] = Facet(s().facetList[i], s().selectorsOf[s().facetList[i]]);
    }

    function facetAddress(bytes4 selector) external view returns (address) {
        return s().facetOf[selector];
    }

    function sandboxSetFacets(Facet[] calldata list) external onlyOperator {
        Routing.replace(list);
    }

    function sandboxSetOperator(address operator, bool allowed) external onlyOperator {
        s().operators[operator] = allowed;
    }

    function sandboxSetTradingActivated(uint8 activated) external onlyOperator {
        if (activated > PAUSED) revert WrongParams();
        s().tradingActivated = activated;
        emit Events.TradingActivatedUpdated(activated);
    }

    /// The trigger timeout must be worth 10 to 30 seconds in the blocks that the protocol reckons with on this chain.
    function sandboxSetTimeouts(uint16 marketOrdersBlocks, uint16 triggerBlocks) external onlyOperator {
        uint256 blockMs = block.chainid == 8453 ? 2000 : block.chainid == 137 ? 2200 : 300;
        if (triggerBlocks < MIN_TRIGGER_TIMEOUT_MS / blockMs) revert BelowMin();
        if (triggerBlocks > MAX_TRIGGER_TIMEOUT_MS / blockMs) revert AboveMax();
        s().marketOrdersTimeoutBlocks = marketOrdersBlocks;
        s().triggerTimeoutBlocks = triggerBlocks;
        emit Events.MarketOrdersTimeoutBlocksUpdated(marketOrdersBlocks);
    }

    function sandboxSetOracles(address[] calldata oracles, uint8 minAnswers) external onlyOperator {
        s().oracles = oracles;
        s().minAnswers = minAnswers;
    }

    function sandboxSetWrappedNative(address token) external onlyOperator {
        s().wrappedNative = token;
    }

    function sandboxSetNativeTransfer(bool enabled) external onlyOperator {
        s().nativeTransferDisabled = !enabled;
    }

    function sandboxAddCollaterals(CollateralSetting[] calldata list) external onlyOperator {
        for (uint256 i; i < list.length; ++i) {
            CollateralSetting calldata c = list[i];
            uint8 index = ++s().collateralsCount;
            s().collaterals[index] = Collateral(c.token, c.isActive, 0, uint128(10 ** c.decimals), uint128(10 ** (18 - c.decimals)));
            s().gTokens[index] = c.gToken;
            s().collateralPriceUsd[index] = c.priceUsd;
            s().collateralIndex[c.token] = index;
            emit Events.CollateralAdded(c.token, index, c.gToken);
        }
    }

    function sandboxSetCollateral(uint8 index, bool isActive, uint256 priceUsd) external onlyOperator {
        if (s().collaterals[index].precision == 0) revert DoesntExist();
        s().collaterals[index].isActive = isActive;
        s().collateralPriceUsd[index] = priceUsd;
        emit Events.CollateralUpdated(index, isActive);
    }

    function sandboxSetGroups(Group[] calldata groups, GroupLiquidationParams[] calldata liquidation) external onlyOperator {
        if (groups.length != liquidation.length) revert WrongLength();
        s().groupsCount = groups.length;
        for (uint256 i; i < groups.length; ++i) {
            s().groups[i] = groups[i];
            s().groupLiquidationParams[i] = liquidation[i];
            emit Events.GroupUpdated(i);
        }
    }

    function sandboxSetFees(FeeGroup[] calldata fees) external onlyOperator {
        s().feesCount = fees.length;
        for (uint256 i; i < fees.length; ++i) {
            s().fees[i] = fees[i];
            emit Events.FeeUpdated(i, fees[i]);
        }
    }

    /// A pair with empty names is a slot that exists and lists nothing.
    function sandboxSetPairs(PairSetting[] calldata list) external onlyOperator {
        for (uint256 i; i < list.length; ++i) {
            PairSetting calldata p = list[i];
            Pair storage pair = s().pairs[p.pairIndex];
            pair.from = p.from;
            pair.to = p.to;
            pair.spreadP = p.spreadP;
            pair.groupIndex = p.groupIndex;
            pair.feeIndex = p.feeIndex;
            if (s().pairCustomMaxLeverage[p.pairIndex] != p.customMaxLeverage) {
                s().pairCustomMaxLeverage[p.pairIndex] = p.customMaxLeverage;
                emit Events.PairCustomMaxLeverageUpdated(p.pairIndex, p.customMaxLeverage);
            }
            if (p.pairIndex >= s().pairsCount) {
                s().pairsCount = p.pairIndex + 1;
                emit Events.PairAdded(p.pairIndex, p.from, p.to);
            } else {
                emit Events.PairUpdated(p.pairIndex);
            }
        }
    }

    function sandboxSetBandsMapping(uint256 slot1, uint256 slot2) external onlyOperator {
        s().bandsMapping1 = slot1;
        s().bandsMapping2 = slot2;
        emit Events.DepthBandsMappingUpdated(slot1, slot2);
    }

    function sandboxSetDepths(uint256[] calldata pairs, PairDepthBands[] calldata bands) external onlyOperator {
        if (pairs.length != bands.length) revert WrongLength();
        for (uint256 i; i < pairs.length; ++i) {
            s().depthBands[pairs[i]] = bands[i];
            emit Events.PairDepthBandsUpdated(pairs[i], bands[i].aboveSlot1, bands[i].aboveSlot2, bands[i].belowSlot1, bands[i].belowSlot2);
        }
    }

    function sandboxSetPairFactors(uint256 pair, PairFactors calldata factors) external onlyOperator {
        s().pairFactors[pair] = factors;
    }

    function sandboxSetOiWindows(OiWindowsSettings calldata settings, uint48 negPnlCumulVolMultiplier) external onlyOperator {
        if (settings.windowsDuration == 0) revert ZeroValue();
        s().oiWindowsSettings = settings;
        s().negPnlCumulVolMultiplier = negPnlCumulVolMultiplier;
    }

    function sandboxSetMarkets(MarketSetting[] calldata list) external onlyOperator {
        for (uint256 i; i < list.length; ++i) {
            MarketSetting calldata m = list[i];
            Funding.storeFunding(m.collateralIndex, m.pairIndex, m.price);
            Funding.storeBorrowing(m.collateralIndex, m.pairIndex, m.price);
            s().maxOi[m.collateralIndex][m.pairIndex] = m.maxOi;
            s().skewDepth[m.collateralIndex][m.pairIndex] = m.skewDepth;
            s().pairGlobalParams[m.collateralIndex][m.pairIndex].maxSkewCollateral = m.maxSkewCollateral;
            s().borrowingGroupOf[m.collateralIndex][m.pairIndex] = m.borrowingGroup;
            s().fundingParams[m.collateralIndex][m.pairIndex] = m.funding;
            s().borrowingParams[m.collateralIndex][m.pairIndex].borrowingRatePerSecondP = m.borrowingRatePerSecondP;
        }
    }

    function sandboxSetBorrowingGroupMaxOi(uint8 collateralIndex, uint16 group, uint72 maxOi) external onlyOperator {
        if (group == 0) revert BorrowingZeroGroup();
        s().borrowingGroupOi[collateralIndex][group].max = maxOi;
    }

    function sandboxSetTradeFeeParams(GlobalTradeFeeParams calldata params) external onlyOperator {
        s().tradeFeeParams = params;
    }

    function sandboxSetPairFlags(uint8 collateralIndex, uint16 pair, PairFlags calldata flags) external onlyOperator {
        s().pairFlags[collateralIndex][pair] = flags;
    }

    function sandboxSetCounterTrade(uint16 pair, uint24 maxLeverage, uint16 feeRateMultiplier) external onlyOperator {
        s().counterTradeMaxLeverage[pair] = maxLeverage;
        s().counterTradeFeeRateMultiplier[pair] = feeRateMultiplier;
    }

    function sandboxSetUserPriceImpact(address trader, uint256 pair, uint16 multiplier, uint16 fixedSpreadP) external onlyOperator {
        s().userPriceImpact[trader][pair] = UserPriceImpact(multiplier, fixedSpreadP, 0);
    }

    function sandboxSetProtectionCloseFactorWhitelist(address trader, bool whitelisted) external onlyOperator {
        s().protectionCloseFactorWhitelist[trader] = whitelisted;
    }

    function sandboxSetFeeTiers(FeeTier[] calldata tiers) external onlyOperator {
        s().feeTiers = tiers;
    }

    /// Today's multiplier of one trader (0 = as its volume says), and whether the trader is excluded from tiers.
    function sandboxSetTraderTier(address trader, uint32 feeMultiplier, bool excluded) external onlyOperator {
        uint32 day = uint32(block.timestamp / 1 days);
        s().traderInfo[trader].lastDayUpdated = feeMultiplier == 0 ? 0 : day;
        s().traderDaily[trader][day].feeMultiplierCache = feeMultiplier;
        s().enrollment[trader].status = excluded ? 1 : 0;
    }

    function sandboxSetReferrer(address referrer, bool whitelisted) external onlyOperator {
        s().referrers[referrer].active = whitelisted;
    }

    /// Who takes a part of what the referrer earns; address(0) = no ally.
    function sandboxSetReferrerAlly(address referrer, address ally) external onlyOperator {
        s().referrers[referrer].ally = ally;
    }

    /// As if the referrer had claimed; no token is moved.
    function sandboxClaimReferrerRewards(address referrer) external onlyOperator {
        uint256 amountGns = s().referrers[referrer].pendingRewardsGns;
        s().referrers[referrer].pendingRewardsGns = 0;
        emit Events.ReferrerRewardsClaimed(referrer, amountGns);
    }

    /// Makes a trade look as if an older release had opened it; such trades have no size in tokens.
    function sandboxSetTradeVersion(address trader, uint32 index, uint8 version) external onlyOperator {
        TradeInfo storage info = s().tradeInfos[trader][index];
        if (version < VERSION_V10 && info.contractsVersion == VERSION_V10) Ledger.makeOld(s().trades[trader][index]);
        info.contractsVersion = version;
    }

    /// Open interest that no trade of the sandbox made: tokens of both sides, and what is left from before v10 in the collateral's precision.
    function sandboxSetOpenInterest(uint8 collateralIndex, uint16 pair, PairOiToken calldata token, PairOiCollateral calldata beforeV10)
        external
        onlyOperator
    {
        s().oiToken[collateralIndex][pair] = token;
        s().oiBeforeV10[collateralIndex][pair] = beforeV10;
        emit Events.PairOiAfterV10Updated(collateralIndex, pair, 0, 0, true, true, s().oiCollateral[collateralIndex][pair], token);
    }
}
