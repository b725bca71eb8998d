// A Go client of Hyperliquid, unmodified, with every step of a bot's day. Against a running sandbox (npm start):
//
//	cd examples/go-bot && go run . [http://127.0.0.1:8080]
//
// or, with nothing running: npm run interop:go
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	hyperliquid "github.com/sonirico/go-hyperliquid"
)

const (
	chain = "arbitrum-sepolia"
	coin  = "BTC"
	// Longer than most proxies keep an idle connection: the next request has to find it usable, or a new one.
	idle = 70 * time.Second
)

func main() {
	url := "http://127.0.0.1:8080"
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	ctx := context.Background()

	// A fresh wallet that has delegated to the relayer: on a real chain its owner does this once.
	var card struct {
		Relayer string `json:"relayer"`
	}
	get(url+"/v1/"+chain, &card)
	var trader struct {
		Address    string `json:"address"`
		PrivateKey string `json:"privateKey"`
	}
	post(url+"/sandbox/accounts", map[string]string{"usdc": "100000", "delegate": card.Relayer}, &trader)

	// The one line that differs from a bot on Hyperliquid.
	base := url + "/hl/" + chain

	// The master wallet approves an agent; the agent trades.
	info := hyperliquid.NewInfo(ctx, base, true, nil, nil, nil)
	master := connect(ctx, base, trader.PrivateKey, trader.Address)
	approval, agentKey, err := master.ApproveAgent(ctx, nil)
	must(err)
	step("approve an agent", approval.Status == "ok", approval.Status)
	bot := connect(ctx, base, agentKey, trader.Address)

	position := func() float64 {
		state, err := info.UserState(ctx, trader.Address)
		must(err)
		for _, held := range state.AssetPositions {
			if held.Position.Coin == coin {
				return number(held.Position.Szi)
			}
		}
		return 0
	}
	fills := func() []hyperliquid.Fill {
		found, err := info.UserFills(ctx, hyperliquid.UserFillsParams{Address: trader.Address})
		must(err)
		return found
	}
	addUp := func(name string) {
		sum := 0.0
		for _, fill := range fills() {
			if fill.Side == "B" {
				sum += number(fill.Size)
			} else {
				sum -= number(fill.Size)
			}
		}
		step(name, math.Abs(sum-position()) < 1e-9, fmt.Sprintf("fills %v, position %v", sum, position()))
	}

	mids, err := info.AllMids(ctx)
	must(err)
	price := func(factor float64) float64 {
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(number(mids[coin])*factor, 'g', 4, 64), 64)
		return rounded
	}

	_, err = bot.UpdateLeverage(ctx, 10, coin, false)
	must(err)
	step("leverage", true, "10x isolated")

	opened, err := bot.MarketOpen(ctx, coin, true, 0.1, nil, 0.05, nil, nil)
	must(err)
	step("market open", opened.Filled != nil, opened.String())
	addUp("fills add up to the position")

	stop, err := bot.Order(ctx, hyperliquid.CreateOrderRequest{
		Coin: coin, IsBuy: false, Size: math.Abs(position()), Price: price(0.9), ReduceOnly: true,
		OrderType: hyperliquid.OrderType{Trigger: &hyperliquid.TriggerOrderType{TriggerPx: price(0.95), IsMarket: true, Tpsl: "sl"}},
	}, nil)
	must(err)
	step("stop loss", stop.Resting != nil, stop.String())

	cloid := "0x" + strings.Repeat("c2", 16)
	limit := hyperliquid.CreateOrderRequest{
		Coin: coin, IsBuy: true, Size: 0.05, Price: price(0.8), ClientOrderID: &cloid,
		OrderType: hyperliquid.OrderType{Limit: &hyperliquid.LimitOrderType{Tif: hyperliquid.TifGtc}},
	}
	resting, err := bot.Order(ctx, limit, nil)
	must(err)
	step("limit", resting.Resting != nil, resting.String())
	known, err := info.QueryOrderByCloid(ctx, trader.Address, cloid)
	must(err)
	step("order status by cloid", known.Order.Status == hyperliquid.OrderStatusValueOpen, string(known.Order.Status))
	canceled, err := bot.CancelByCloid(ctx, coin, cloid)
	must(err)
	step("cancel by cloid", canceled.Ok, fmt.Sprintf("%d canceled", len(canceled.Data.Statuses)))

	fmt.Printf("idle for %v, as a slow strategy is\n", idle)
	time.Sleep(idle)
	closed, err := bot.MarketClose(ctx, coin, nil, nil, 0.05, nil, nil)
	must(err)
	step("market close after an idle time", closed.Filled != nil, closed.String())
	step("the position is gone", position() == 0, "")
	addUp("fills add up to nothing")

	history, err := info.HistoricalOrders(ctx, trader.Address)
	must(err)
	triggers := 0
	for _, order := range history {
		if order.Order.IsTrigger {
			triggers++
		}
	}
	step("the stop loss is in the history", triggers == 1, fmt.Sprintf("%d of %d orders", triggers, len(history)))

	transfer, err := master.UsdTransfer(ctx, 1, trader.Address)
	step("custody is refused", err != nil || transfer.Status != "ok", fmt.Sprintf("%v %v", transfer, err))
	fmt.Println("Every step succeeded.")
}

func connect(ctx context.Context, base, key, account string) *hyperliquid.Exchange {
	private, err := crypto.HexToECDSA(strings.TrimPrefix(key, "0x"))
	must(err)
	return hyperliquid.NewExchange(ctx, private, base, nil, "", account, nil, nil)
}

func step(name string, holds bool, said string) {
	if !holds {
		fmt.Printf("FAILED: %s: %s\n", name, said)
		os.Exit(1)
	}
	fmt.Printf("%s: %s\n", name, said)
}

func must(err error) {
	if err != nil {
		fmt.Println("FAILED:", err)
		os.Exit(1)
	}
}

func number(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	must(err)
	return value
}

func get(url string, into any) {
	answer, err := http.Get(url)
	must(err)
	defer answer.Body.Close()
	must(json.NewDecoder(answer.Body).Decode(into))
}

func post(url string, body, into any) {
	text, err := json.Marshal(body)
	must(err)
	answer, err := http.Post(url, "application/json", bytes.NewReader(text))
	must(err)
	defer answer.Body.Close()
	must(json.NewDecoder(answer.Body).Decode(into))
}
