"""ccxt in Python, unmodified: every step of a bot's day. Against a running sandbox (npm start):

    pip install ccxt
    python examples/ccxt_bot.py [http://127.0.0.1:8080]

or, with nothing installed and nothing running: npm run interop:ccxt
"""

import json
import os
import sys
import time
import urllib.request

import ccxt

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
CHAIN = "arbitrum-sepolia"
SYMBOL = "BTC/USDC:USDC"
IDLE_SECONDS = int(os.environ.get("IDLE_SECONDS", "70"))  # longer than most proxies keep an idle connection


def ask(path):
    with urllib.request.urlopen(f"{URL}{path}") as response:
        return json.load(response)


def step(name, holds, said=""):
    if not holds:
        raise SystemExit(f"FAILED: {name}: {said}")
    print(f"{name}: {said}" if said else name)


# The sandbox has a trader that approved an agent: ccxt itself cannot approve one.
accounts = {account["role"]: account for account in ask("/sandbox")["accounts"]}

# The addresses are all that differs from a bot on Hyperliquid. set_sandbox_mode would replace them by urls.test.
base_url = f"{URL}/hl/{CHAIN}"
exchange = ccxt.hyperliquid(
    {
        "walletAddress": accounts["hl-trader"]["address"],
        "privateKey": accounts["hl-agent"]["privateKey"],
        "urls": {"api": {"public": base_url, "private": base_url}},
        "options": {"builderFee": False},
        "timeout": 60_000,
    }
)
markets = exchange.load_markets()
step("markets", SYMBOL in markets, f"{len(markets)} markets")


def held():
    return sum((1 if row["side"] == "long" else -1) * row["contracts"] for row in exchange.fetch_positions([SYMBOL]))


def traded():
    return sum((1 if row["side"] == "buy" else -1) * row["amount"] for row in exchange.fetch_my_trades(SYMBOL))


def adds_up(name):
    position, fills = held(), traded()
    step(name, abs(position - fills) < 1e-9, f"fills {fills:.6g}, position {position:.6g}")


mid = exchange.fetch_ticker(SYMBOL)["last"]
price = lambda factor: float(exchange.price_to_precision(SYMBOL, mid * factor))  # noqa: E731

exchange.set_margin_mode("isolated", SYMBOL, {"leverage": 10})
step("leverage", True, "10x isolated")

def executed(order, seconds=30):
    """An oracle executes the order; where it takes longer than the answer, the order rests until then."""
    end = time.time() + seconds
    while exchange.fetch_order(order["id"], SYMBOL)["status"] == "open" and time.time() < end:
        time.sleep(0.2)
    return [trade for trade in exchange.fetch_my_trades(SYMBOL) if trade["order"] == order["id"]]


opened = executed(exchange.create_order(SYMBOL, "market", "buy", 0.1, mid))
step("market open", len(opened) > 0, ", ".join(f"{trade['amount']} at {trade['price']}" for trade in opened))
adds_up("fills add up to the position")

stop = exchange.create_order(SYMBOL, "market", "sell", held(), mid, {"stopLossPrice": price(0.95), "reduceOnly": True})
step("stop loss", stop["id"] is not None, stop["id"])

limit = exchange.create_order(SYMBOL, "limit", "buy", 0.05, price(0.8))
known = exchange.fetch_order(limit["id"], SYMBOL)
step("limit", known["status"] == "open" and known["remaining"] == 0.05, f"{known['id']} {known['status']}")
exchange.cancel_order(limit["id"], SYMBOL)
step("cancel", exchange.fetch_order(limit["id"], SYMBOL)["status"] == "canceled", limit["id"])

print(f"idle for {IDLE_SECONDS} s, as a slow strategy is")
time.sleep(IDLE_SECONDS)
closed = executed(exchange.create_order(SYMBOL, "market", "sell", held(), mid, {"reduceOnly": True}))
step("market close after an idle time", len(closed) > 0, ", ".join(f"{trade['amount']} at {trade['price']}" for trade in closed))
step("the position is gone", held() == 0)
adds_up("fills add up to nothing")

history = {order["id"] for order in exchange.fetch_orders(SYMBOL)}
step("the stop loss is in the history", stop["id"] in history, f"{len(history)} orders")
print("Every step succeeded.")
