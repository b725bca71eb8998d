import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { request } from '../api/request.js';
import { LOADING, useResource, type Resource } from '../api/resource.js';
import type { Link } from '../api/socket.js';
import { Dialog } from '../ui/dialog.js';
import { Panel, Skeleton } from '../ui/panel.js';
import { mountPage, type PageContext } from '../ui/shell.js';
import { BookPanel } from './book.js';
import { CandlesPanel } from './candles.js';
import { ConnectBot } from './connect-bot.js';
import { HealthPanel } from './health.js';
import { listenForKeys } from './keys.js';
import { openPrices } from './live-prices.js';
import { MarketBar } from './market-bar.js';
import { MarketTable } from './market-table.js';
import { SandboxDrawer } from './sandbox-drawer.js';
import { TradesPanel } from './trades.js';
import { INTERVALS, slugOf, type Book, type DayFigures, type Interval, type Market } from './types.js';
import { useStream } from './use-stream.js';

const MARKETS_MS = 15_000;
const DAY_MS = 30_000;
const SOON_MS = 1_500;
const MOST_ATTEMPTS = 8;
interface Listed<Row> {
  readonly data: readonly Row[];
}

function Venue(context: PageContext) {
  return context.link === null ? null : <OpenVenue {...context} link={context.link} />;
}

function OpenVenue({ facts, chain, base, link }: PageContext & { readonly link: Link }) {
  const markets = useResource<Listed<Market>>(chain, (signal) => request(`${base}/markets`, { signal }), MARKETS_MS);
  const day = useResource<Listed<DayFigures>>(chain, (signal) => request(`${base}/day`, { signal }), DAY_MS);
  const days = useComputed(() => new Map((day.load.value.data?.data ?? []).map((row) => [row.market, row])));
  useUntilKnown(markets, day);
  const prices = useMemo(() => openPrices(link), [link]);
  useEffect(() => () => prices.stop(), [prices]);
  const chosen = useSignal(marketOfAddress());
  const interval = useSignal<Interval>('1h');
  const isHelping = useSignal(false);
  const searchBox = useRef<HTMLInputElement>(null);
  const { data, at, problem } = markets.load.value;
  const rows = data?.data ?? null;
  const market = rows?.find(({ symbol }) => slugOf(symbol) === chosen.value) ?? rows?.[0] ?? null;

  const choose = (symbol: string): void => {
    chosen.value = slugOf(symbol);
    history.replaceState(null, '', `#${slugOf(symbol)}`);
  };
  const step = (by: 1 | -1): void => {
    const all = markets.load.peek().data?.data ?? [];
    const place = all.findIndex(({ symbol }) => slugOf(symbol) === (chosen.peek() ?? slugOf(all[0]?.symbol ?? '')));
    const next = all[place + by];
    if (next !== undefined) choose(next.symbol);
  };
  useEffect(
    () =>
      listenForKeys({
        search: () => searchBox.current?.focus(),
        interval: (place) => (interval.value = INTERVALS[place] ?? interval.peek()),
        help: () => (isHelping.value = true),
        step,
      }),
    [],
  );
  const isCut = link.state.value === 'STALE' || link.state.value === 'LOST';
  const common = { link, isCut };
  return (
    <>
      <div class="venue">
        {market === null ? (
          problem === null && <LoadingMarket />
        ) : (
          <OneMarket
            key={market.symbol}
            {...common}
            market={market}
            base={base}
            isSandbox={facts.mode === 'sandbox'}
            bar={{ prices, days }}
            interval={interval.value}
            onInterval={(next) => (interval.value = next)}
          />
        )}
        <MarketTable
          load={{ data: rows, at, problem }}
          onRetry={markets.refresh}
          prices={prices}
          days={days}
          chosen={market?.symbol ?? null}
          onChoose={choose}
          isCut={isCut}
          searchBox={searchBox}
        />
        <HealthPanel />
        <ConnectBot chain={chain} connectPath={facts.pages['connect'] ?? null} />
      </div>
      {facts.mode === 'sandbox' ? <SandboxDrawer chain={chain} market={market} prices={prices} /> : null}
      {isHelping.value ? <Help onClose={() => (isHelping.value = false)} /> : null}
    </>
  );
}

/** The gateway begins to read its charts when it is first asked, a few markets at a time: asked again until the open ones are known. */
function useUntilKnown(markets: Resource<Listed<Market>>, day: Resource<Listed<DayFigures>>): void {
  const attempts = useRef(0);
  const open = new Set((markets.load.value.data?.data ?? []).filter(({ isOpen }) => isOpen).map(({ symbol }) => symbol));
  const { data } = day.load.value;
  const isWaiting = data?.data.some(({ market, priceBefore }) => priceBefore === null && open.has(market)) === true;
  useEffect(() => {
    if (!isWaiting || attempts.current >= MOST_ATTEMPTS) return;
    attempts.current += 1;
    const timer = setTimeout(day.refresh, SOON_MS);
    return () => clearTimeout(timer);
  }, [isWaiting, data]);
}

interface OneMarketProps {
  readonly market: Market;
  readonly base: string;
  readonly link: Link;
  readonly isCut: boolean;
  readonly isSandbox: boolean;
  readonly bar: Pick<Parameters<typeof MarketBar>[0], 'prices' | 'days'>;
  readonly interval: Interval;
  readonly onInterval: (interval: Interval) => void;
}

/** What belongs to the chosen market: its subscriptions end with it. */
function OneMarket({ market, base, link, isCut, isSandbox, bar, interval, onInterval }: OneMarketProps) {
  const book = useStream<Book, Book>(link, { channel: 'book', market: market.symbol }, (_before, { data }) => data);
  return (
    <>
      <MarketBar market={market} {...bar} book={book} isDimmed={isCut} />
      <CandlesPanel market={market} base={base} link={link} interval={interval} onInterval={onInterval} isCut={isCut} />
      <BookPanel market={market} load={book} isCut={isCut} />
      <TradesPanel market={market} link={link} isCut={isCut} isSandbox={isSandbox} />
    </>
  );
}

/** The size of what comes, so that nothing moves when it does. */
function LoadingMarket() {
  const nothing = () => null;
  return (
    <>
      <section class="market-bar" aria-busy="true">
        <Skeleton rows={2} />
      </section>
      <Panel title="Candles" class="candles-panel" load={LOADING} rows={17} children={nothing} />
      <Panel title="Virtual book" class="book-panel" load={LOADING} rows={17} children={nothing} />
      <Panel title="Recent trades" class="trades-panel" load={LOADING} rows={3} children={nothing} />
    </>
  );
}

/** Symbols have no character that an address would encode. */
const marketOfAddress = (): string | null => (location.hash.length > 1 ? location.hash.slice(1).toUpperCase() : null);

const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'search markets'],
  ['↑ ↓', 'previous and next market; in a table, rows'],
  ['1 – 6', `interval of the candles: ${INTERVALS.join(', ')}`],
  ['?', 'this list'],
  ['Esc', 'close, leave the search'],
];

function Help({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="pairs">
        {KEYS.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

mountPage('venue', Venue);
