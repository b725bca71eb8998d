/** What is recorded of the markets themselves. */
export const MARKETS = `
  -- Minutes of the feed's mark price, 1e10. Rows are updated during their minute, hence the free space in every page.
  create table candles (
    chain text not null,
    pair_index integer not null,
    time bigint not null,
    open numeric(78, 0) not null,
    high numeric(78, 0) not null,
    low numeric(78, 0) not null,
    close numeric(78, 0) not null,
    open_at bigint not null,
    close_at bigint not null,
    primary key (chain, pair_index, time)
  ) with (fillfactor = 70);

  -- The contract keeps no history of its rates, so they are recorded while they apply.
  create table funding_hours (
    chain text not null,
    pair_index integer not null,
    time bigint not null,
    rate numeric(78, 0) not null,
    premium numeric(78, 0) not null,
    primary key (chain, pair_index, time)
  );

  -- Units of the facade's assets. Clients compute with them, so they stay as they were first published.
  create table asset_units (
    chain text not null,
    pair_index integer not null,
    symbol text not null,
    sz_decimals integer not null check (sz_decimals between 0 and 5),
    multiplier integer not null check (multiplier in (1, 1000)),
    primary key (chain, pair_index, symbol)
  );
`;
