// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

uint256 constant P10 = 1e10;
// 100 %, in 1e10 percent.
uint256 constant HUNDRED_P = 100e10;
uint256 constant BANDS = 30;
uint256 constant BANDS_IN_SLOT1 = 14;
uint256 constant DEFAULT_CLOSING_SLIPPAGE_P = 1000;
// An opening whose spread and volume impact would cost more than this share of the collateral is refused.
int256 constant MAX_OPEN_NEGATIVE_PNL_P = 40e10;
uint256 constant LEGACY_LIQ_THRESHOLD_P = 90e10;
uint256 constant MIN_LEVERAGE = 100;
uint256 constant SL_BUFFER_P = 5e10;
uint256 constant MAX_FEE_TIER_DAYS = 30;
// How long a keeper's attempt may keep its order from being edited.
uint256 constant MIN_TRIGGER_TIMEOUT_MS = 10_000;
uint256 constant MAX_TRIGGER_TIMEOUT_MS = 30_000;
// What a payout in native currency may cost its receiver.
uint256 constant NATIVE_TRANSFER_GAS = 10_000;
// An oracle's answer is worthless after this time.
uint256 constant ANSWER_LIFETIME = 1 hours;

uint8 constant TYPE_TRADE = 0;
uint8 constant TYPE_LIMIT = 1;
uint8 constant TYPE_STOP = 2;

uint8 constant MARKET_OPEN = 0;
uint8 constant MARKET_CLOSE = 1;
uint8 constant LIMIT_OPEN = 2;
uint8 constant STOP_OPEN = 3;
uint8 constant TP_CLOSE = 4;
uint8 constant SL_CLOSE = 5;
uint8 constant LIQ_CLOSE = 6;
uint8 constant UPDATE_LEVERAGE = 7;
uint8 constant MARKET_PARTIAL_OPEN = 8;
uint8 constant MARKET_PARTIAL_CLOSE = 9;
uint8 constant PNL_WITHDRAWAL = 11;

uint8 constant COUNTER_TRADE = 0;
uint8 constant COUNTER_PENDING = 1;

uint8 constant ACTIVATED = 0;
uint8 constant PAUSED = 2;

uint8 constant VERSION_V9_2 = 1;
uint8 constant VERSION_V10 = 2;

uint8 constant NONE = 0;
uint8 constant SLIPPAGE = 3;
uint8 constant TP_REACHED = 4;
uint8 constant SL_REACHED = 5;
uint8 constant EXPOSURE_LIMITS = 6;
uint8 constant PRICE_IMPACT = 7;
uint8 constant MAX_LEVERAGE = 8;
uint8 constant NO_TRADE = 9;
uint8 constant WRONG_TRADE = 10;
uint8 constant NOT_HIT = 11;
uint8 constant LIQ_REACHED = 12;
uint8 constant COUNTER_TRADE_CANCELED = 13;

// Percent of the referral fee that a new referrer gets, the volume (USD) at which it gets all of it, and the percent of it that an ally takes.
uint256 constant START_REFERRER_FEE_P = 75;
uint256 constant REFERRAL_TARGET_VOLUME_USD = 100_000_000;
uint256 constant ALLY_FEE_P = 10;
// 1e10; the sandbox has no market for GNS.
uint256 constant GNS_PRICE_USD = 2e10;
