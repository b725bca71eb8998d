import { createOnchainConfig } from '../../../../core/adapters/evm/market-config/onchain-config.js';
import type { MarketConfig } from '../../../../core/domain/market.js';
import { venueOf, type Venue } from '../../../../core/gateway.js';
import { createRecordedLog } from '../../../harness/checks/recorded-log.js';
import { createManualClock } from '../../../harness/time/manual-clock.js';
import { eventually } from '../../../harness/time/eventually.js';
import { firstChain } from '../../../harness/venue/first-chain.js';
import { operatorOf } from '../../../harness/venue/operator.js';
import type { TestVenue } from '../../../harness/venue/own-venue.js';
import { sharedVenue } from '../../../harness/venue/shared-venue.js';

const AVAX = 3;
const MILLION = 1_000_000n;
const COLLATERALS = [
  ['DAI', 10n ** 18n],
  ['USDC', 10n ** 6n],
] as const;

let sandbox: TestVenue;
let venue: Venue;

beforeAll(async () => {
  sandbox = await sharedVenue();
  venue = venueOf(sandbox.gateway, 'arbitrum-sepolia');
});
afterAll(async () => {
  await setOld(0n);
  await sandbox.stop();
});

/** As many dollars of longs in both collaterals as trades from before v10 left. */
async function setOld(amount: bigint): Promise<void> {
  const operator = operatorOf(firstChain(sandbox));
  for (const [symbol, unit] of COLLATERALS) {
    const old = { oiLongCollateral: amount * unit, oiShortCollateral: 0n };
    await operator.control('sandboxSetOpenInterest', [operator.collateral(symbol), AVAX, { oiLongToken: 0n, oiShortToken: 0n }, old]);
  }
}

const oldIn = (config: MarketConfig | null): (bigint | undefined)[] =>
  COLLATERALS.map(([symbol]) => config?.collaterals.find((row) => row.symbol === symbol)?.pairs.at(AVAX)?.oiBeforeV10.long);

/** 1e10 in either collateral, which is what the caps have. */
const p10 = (amount: bigint): bigint[] => COLLATERALS.map(() => amount * 10n ** 10n);
const isOld = (amount: bigint) => (found: (bigint | undefined)[]) => String(found) === String(p10(amount));

describe('open interest from before v10', () => {
  it('has the unit of the caps, from the contract as from the backend, and is read again as it shrinks', async () => {
    await setOld(MILLION);
    const clock = createManualClock();
    const onchain = createOnchainConfig({ definition: venue.definition, chain: venue.chain, clock, log: createRecordedLog() });
    try {
      onchain.need(true);
      await eventually(() => oldIn(onchain.config()), isOld(MILLION));
      await eventually(() => oldIn(venue.feed.config()), isOld(MILLION));
      await setOld(MILLION / 2n);
      clock.advance(15_000);
      await eventually(() => oldIn(onchain.config()), isOld(MILLION / 2n));
      await eventually(() => oldIn(venue.feed.config()), isOld(MILLION / 2n));
    } finally {
      onchain.stop();
    }
  });
});
