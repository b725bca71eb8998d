// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "./Types.sol";
import "./Constants.sol";
import {Store} from "./Store.sol";
import {Markets} from "./Markets.sol";
import {Events} from "./Events.sol";

/// Who brought a trader, and what every trading fee of the trader earns them.
library Referrals {
    /// The first whitelisted referrer stays; any other is ignored without an event.
    function register(address trader, address referrer) internal {
        Store.Layout storage s = Store.state();
        ReferrerDetails storage details = s.referrers[referrer];
        if (referrer == address(0) || !details.active || s.referrerOf[trader] != address(0)) return;
        s.referrerOf[trader] = referrer;
        details.tradersReferred.push(trader);
        emit Events.ReferrerRegistered(trader, referrer);
    }

    /// 1e10 percent: grows with the volume of all traders that the referrer brought.
    function feeProgressP(address referrer) internal view returns (uint256) {
        uint256 target = REFERRAL_TARGET_VOLUME_USD * 1e18;
        uint256 volume = Store.state().referrers[referrer].volumeReferredUsd;
        uint256 start = START_REFERRER_FEE_P * P10;
        return start + ((100 * P10 - start) * (volume > target ? target : volume)) / target;
    }

    /// The share of one fee; paid in GNS, of which an ally of the referrer gets a part.
    function reward(Trade memory t, uint256 size, uint256 fee) internal {
        Store.Layout storage s = Store.state();
        address referrer = s.referrerOf[t.user];
        ReferrerDetails storage details = s.referrers[referrer];
        if (!details.active) return;
        uint256 share = (((fee * s.tradeFeeParams.referralFeeP) / 1e3 / 100) * feeProgressP(referrer)) / P10 / 100;
        if (share == 0) return;
        uint256 volumeUsd = Markets.toUsd(t.collateralIndex, size);
        uint256 valueUsd = Markets.toUsd(t.collateralIndex, share);
        uint256 gns = (valueUsd * P10) / GNS_PRICE_USD;
        if (details.ally != address(0)) {
            uint256 allyGns = (gns * ALLY_FEE_P) / 100;
            uint256 allyUsd = (valueUsd * ALLY_FEE_P) / 100;
            gns -= allyGns;
            valueUsd -= allyUsd;
            emit Events.AllyRewardDistributed(details.ally, t.user, volumeUsd, allyGns, allyUsd);
        }
        details.volumeReferredUsd += volumeUsd;
        details.pendingRewardsGns += gns;
        details.totalRewardsGns += gns;
        details.totalRewardsValueUsd += valueUsd;
        emit Events.ReferrerRewardDistributed(referrer, t.user, volumeUsd, gns, valueUsd);
    }
}
