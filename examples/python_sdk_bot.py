"""The official Python SDK, unmodified: every step of a bot's day. Against a running sandbox (npm start):

    pip install hyperliquid-python-sdk
    python examples/python_sdk_bot.py [http://127.0.0.1:8080]

or, with nothing installed and nothing running: npm run interop:python
"""

import json
import os
import sys
import time
import urllib.request

import eth_account
from hyperliquid.exchange import Exchange
from hyperliquid.info import Info
from hyperliquid.utils.types import Cloid

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
CHAIN = "arbitrum-sepolia"
COIN = "BTC"
IDLE_SECONDS = int(os.environ.get("IDLE_SECONDS", "70"))  # longer than most proxies keep an idle connection


def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{URL}{path}", data=data, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def step(name, holds, said=""):
    if not holds:
        raise SystemExit(f"FAILED: {name}: {said}")
    print(f"{name}: {said}" if said else name)


def status(answer):
    return answer["response"]["data"]["statuses"][0]


def until(name, condition, seconds=20):
    end = time.time() + seconds
    while not condition():
        if time.time() > end:
            raise SystemExit(f"FAILED: {name} did not come true")
        time.sleep(0.05)


# A fresh wallet that has delegated to the relayer: on a real chain its owner does this once.
relayer = ask(f"/v1/{CHAIN}")["relayer"]
trader = ask("/sandbox/accounts", {"usdc": "100000", "delegate": relayer})
address = trader["address"]

# The one line that differs from a bot on Hyperliquid.
base_url = f"{URL}/hl/{CHAIN}"
info = Info(base_url, skip_ws=True)

# The master wallet approves an agent; the agent trades.
master = Exchange(eth_account.Account.from_key(trader["privateKey"]), base_url)
approved, agent_key = master.approve_agent()
step("approve an agent", approved["status"] == "ok", approved["status"])
exchange = Exchange(eth_account.Account.from_key(agent_key), base_url, account_address=address)


def szi():
    held = [row["position"] for row in info.user_state(address)["assetPositions"] if row["position"]["coin"] == COIN]
    return float(held[0]["szi"]) if held else 0.0


def adds_up(name):
    fills = sum((1 if fill["side"] == "B" else -1) * float(fill["sz"]) for fill in info.user_fills(address))
    step(name, abs(fills - szi()) < 1e-9, f"fills {fills:.6g}, position {szi():.6g}")


mid = float(info.all_mids()[COIN])
price = lambda factor: float(f"{mid * factor:.4g}")  # noqa: E731

answer = exchange.update_leverage(10, COIN, is_cross=False)
step("leverage", answer["status"] == "ok", answer["response"]["type"])

opened = status(exchange.market_open(COIN, True, 0.1))
step("market open", "filled" in opened and abs(szi() - 0.1) < 0.001, str(opened))

adds_up("fills add up to the position")

stop = status(
    exchange.order(COIN, False, abs(szi()), price(0.9), {"trigger": {"isMarket": True, "triggerPx": price(0.95), "tpsl": "sl"}}, reduce_only=True)
)
step("stop loss", "resting" in stop, str(stop))
until("the stop loss is listed", lambda: any(order["reduceOnly"] for order in info.frontend_open_orders(address)))

resting = status(exchange.order(COIN, True, 0.05, price(0.8), {"limit": {"tif": "Gtc"}}))
step("limit", "resting" in resting, str(resting))
oid = resting["resting"]["oid"]
known = info.query_order_by_oid(address, oid)
step("order status", known["order"]["status"] == "open", known["order"]["status"])

changed = status(exchange.modify_order(oid, COIN, True, 0.06, price(0.79), {"limit": {"tif": "Gtc"}}))
step("modify", "resting" in changed, str(changed))
canceled = status(exchange.cancel(COIN, changed["resting"]["oid"]))
step("cancel by id", canceled == "success", str(canceled))

cloid = Cloid.from_str("0x" + "c1" * 16)
named = status(exchange.order(COIN, True, 0.05, price(0.8), {"limit": {"tif": "Alo"}}, cloid=cloid))
step("post-only limit with a cloid", "resting" in named, str(named))
canceled = status(exchange.cancel_by_cloid(COIN, cloid))
step("cancel by cloid", canceled == "success", str(canceled))

answer = exchange.update_isolated_margin(100.0, COIN)
step("margin", answer["status"] == "ok", str(answer["response"]))

refused = status(exchange.order(COIN, True, 0.1, price(0.9), {"limit": {"tif": "Ioc"}}))
step("a refusal in its own words", "could not immediately match" in refused.get("error", ""), str(refused))

print(f"idle for {IDLE_SECONDS} s, as a slow strategy is")
time.sleep(IDLE_SECONDS)
closed = status(exchange.market_close(COIN))
step("market close after an idle time", "filled" in closed, str(closed))
until("the position is gone", lambda: szi() == 0.0)

fills = info.user_fills(address)
# What an order got beyond its size is a fill of its own.
step("fills", fills[0]["dir"] == "Close Long" and fills[-1]["dir"] == "Open Long", ", ".join(fill["dir"] for fill in fills))

adds_up("fills add up to nothing")

history = info.historical_orders(address)
stops = [row for row in history if row["order"]["isTrigger"]]
step("the stop loss is in the history", len(stops) == 1, f"{len(history)} orders")

custody = master.withdraw_from_bridge(1.0, address)
step("custody is refused", custody["status"] == "err", str(custody["response"]))
print("Every step succeeded.")
