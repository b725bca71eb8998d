// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import "../lib/Types.sol";
import "../lib/Constants.sol";
import {Store} from "../lib/Store.sol";
import {Access} from "../lib/Access.sol";
import {Maths} from "../lib/Maths.sol";
import {Markets} from "../lib/Markets.sol";
import {Impact} from "../lib/Impact.sol";
import {Ledger} from "../lib/Ledger.sol";
import {Requests} from "../lib/Requests.sol";
import {Settlement} from "../lib/Settlement.sol";
import {Native} from "../lib/Native.sol";
import {Events} from "../lib/Events.sol";
import {Referrals} from "../lib/Referrals.sol";

/// Opening, as the trader or the trader's delegate asks for it.
contract OpeningFacet is Access {
    function openTrade(Trade memory trade, uint16 maxSlippageP, address referrer) external whenActivated nonReentrant {
        open(trade, maxSlippageP, referrer, false);
    }

    function openTradeNative(Trade memory trade, uint16 maxSlippageP, address referrer)
        external
        payable
        whenActivated
        notDelegated
        nonReentrant
    {
        trade.collateralAmount = Native.wrap(trade.collateralIndex);
        open(trade, maxSlippageP, referrer, true);
    }

    function open(Trade memory t, uint16 maxSlippageP, address referrer, bool paid) private {
        t.user = sender();
        t.index = 0;
        t.isOpen = false;
        t.positionSizeToken = 0;
        t.__placeholder = 0;
        uint256 size = Maths.positionSizeOf(t);
        if (t.collateralAmount < Markets.minOpeningCollateral(t.collateralIndex, t.pairIndex)) revert InsufficientCollateral();
        if (t.leverage < Markets.group(t.pairIndex).minLeverage || t.leverage > Markets.maxLeverage(t.pairIndex)) revert WrongLeverage();
        if (t.isCounterTrade && t.leverage > Store.state().counterTradeMaxLeverage[t.pairIndex]) revert WrongTradeType();
        TradePriceImpact memory impact = Impact.opening(t, t.openPrice, size);
        if (Impact.openingLossP(impact, t.leverage, t.long) > MAX_OPEN_NEGATIVE_PNL_P) revert PriceImpactTooHigh();
        if (!paid) Settlement.pull(t.collateralIndex, t.user, t.collateralAmount);
        if (t.tradeType == TYPE_TRADE) {
            PendingOrder memory o;
            o.trade = t;
            o.user = t.user;
            o.orderType = MARKET_OPEN;
            o.maxSlippageP = maxSlippageP;
            Id memory id = Requests.store(o, t.collateralIndex, t.pairIndex, size, t.isCounterTrade);
            emit Events.MarketOrderInitiated(id, t.user, t.pairIndex, true);
        } else {
            if (t.tradeType > TYPE_STOP) revert WrongTradeType();
            t = Ledger.storeTrade(t, maxSlippageP, 0);
            emit Events.OpenOrderPlaced(t.user, t.pairIndex, t.index);
        }
        Referrals.register(t.user, referrer);
    }
}
