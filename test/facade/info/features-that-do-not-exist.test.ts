import type * as current from '@nktkas/hyperliquid/api/info';
import * as earlier from 'nktkas-0.30/api/info';
import { z } from 'zod';
import { hlInfo, type HlInfo } from '../../harness/hyperliquid/info.js';
import type { TestVenue } from '../../harness/venue/own-venue.js';
import { sharedVenue } from '../../harness/venue/shared-venue.js';

/** The answers are held to what the client itself declares: by its own schemas where it has some, by its types where it has not. */

let sandbox: TestVenue;
let info: HlInfo;
beforeAll(async () => {
  sandbox = await sharedVenue();
  info = hlInfo(sandbox);
});
afterAll(() => sandbox.stop());

const user = `0x${'34'.repeat(20)}`;

interface Declared {
  readonly '~standard': { validate(value: unknown): object };
}

const BY_SCHEMA: readonly (readonly [string, object, Declared])[] = [
  ['alignedQuoteTokenInfo', { token: 0 }, earlier.AlignedQuoteTokenInfoResponse],
  ['gossipRootIps', {}, earlier.GossipRootIpsResponse],
  ['perpDeployAuctionStatus', {}, earlier.PerpDeployAuctionStatusResponse],
  ['perpDexStatus', { dex: '' }, earlier.PerpDexStatusResponse],
  ['referral', { user }, earlier.ReferralResponse],
  ['spotDeployState', { user }, earlier.SpotDeployStateResponse],
  ['spotPairDeployAuctionStatus', {}, earlier.SpotPairDeployAuctionStatusResponse],
  ['tokenDetails', { tokenId: `0x${'0'.repeat(32)}` }, earlier.TokenDetailsResponse],
  ['userDexAbstraction', { user }, earlier.UserDexAbstractionResponse],
  ['validatorL1Votes', {}, earlier.ValidatorL1VotesResponse],
];

const Text = z.string();
const Nothing = z.tuple([]).transform((): never[] => []);
const Auction = z.strictObject({
  currentGas: Text.nullable(),
  durationSeconds: z.int(),
  endGas: Text.nullable(),
  startGas: Text,
  startTimeSeconds: z.int(),
});
const Reserve = z.strictObject({
  borrowYearlyRate: Text,
  supplyYearlyRate: Text,
  balance: Text,
  utilization: Text,
  oraclePx: Text,
  ltv: Text,
  totalSupplied: Text,
  totalBorrowed: Text,
});
const Route = z.enum(['bridge', 'cctp']);

/** The later version declares types alone: the compiler holds each shape here to them. */
const SHAPES = {
  allBorrowLendReserveStates: Nothing satisfies z.ZodType<current.AllBorrowLendReserveStatesResponse>,
  borrowLendReserveState: Reserve satisfies z.ZodType<current.BorrowLendReserveStateResponse>,
  borrowLendUserState: z.strictObject({
    tokenToState: Nothing,
    health: z.literal('healthy'),
    healthFactor: z.null(),
  }) satisfies z.ZodType<current.BorrowLendUserStateResponse>,
  gossipPriorityAuctionStatus: z.tuple([Nothing, z.array(Auction)]) satisfies z.ZodType<current.GossipPriorityAuctionStatusResponse>,
  outcomeTemplates: Nothing satisfies z.ZodType<current.OutcomeTemplatesResponse>,
  usdcRouting: z.strictObject({ depositRoute: Route, withdrawalRoute: Route }) satisfies z.ZodType<current.UsdcRoutingResponse>,
};

const FIELDS: Readonly<Record<string, object>> = { borrowLendReserveState: { token: 0 }, borrowLendUserState: { user } };

describe('a feature that does not exist here', () => {
  it.each(BY_SCHEMA)('%s is answered as the schema of the client declares it', async (type, fields, declared) => {
    expect(declared['~standard'].validate(await info.ask(type, { ...fields }))).not.toHaveProperty('issues');
  });

  it.each(Object.entries(SHAPES))('%s is answered as the type of the client declares it', async (type, shape) => {
    expect(shape.safeParse(await info.ask(type, { ...FIELDS[type] })).error).toBeUndefined();
  });

  it('has names for the tokens of the spot market, and none for others', async () => {
    const { tokens } = await info.ask<{ tokens: { name: string; tokenId: string }[] }>('spotMeta');
    for (const { name, tokenId } of tokens) expect(await info.ask('tokenDetails', { tokenId })).toMatchObject({ name });
    expect(await info.ask('tokenDetails', { tokenId: `0x${'ab'.repeat(16)}` })).toMatchObject({ name: '' });
    expect((await info.send('{"type":"tokenDetails","tokenId":"0x12"}')).status).toBe(422);
  });
});
