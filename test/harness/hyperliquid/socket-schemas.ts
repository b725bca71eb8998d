import { inflateRawSync } from 'node:zlib';
import { z } from 'zod';
import {
  Candle,
  ClearinghouseState,
  Ctx,
  Fill,
  FrontendOrder,
  FundingFields,
  HistoricalOrder,
  HL_INFO_SCHEMAS,
  L2Book,
  OpenOrder,
  SpotCtx,
} from './info-schemas.js';

/** What clients of Hyperliquid expect of every frame, written from how they read it. Nothing may be missing, and nothing be added. */

const Dec = z.string().regex(/^-?(?:0|[1-9]\d*)\.\d+$/);
const Int = z.int().nonnegative();
const Address = z.string().regex(/^0x[0-9a-f]{40}$/);
const Coin = z.string().regex(/^k?[A-Z0-9]{1,15}$/);
const IsSnapshot = z.literal(true).optional();
const Nothing = z.tuple([]);
const Level = z.strictObject({ px: Dec, sz: Dec, n: Int });
const infoShape = (type: string): z.ZodType => HL_INFO_SCHEMAS.get(type) ?? z.never();

/** Raw DEFLATE in base64. */
const unpacked = (text: string): unknown => JSON.parse(inflateRawSync(Buffer.from(text, 'base64')).toString());

const OrderUpdate = z.strictObject({
  order: OpenOrder.extend({ triggerPx: Dec.optional(), askedTriggerPx: Dec.optional() }),
  status: HistoricalOrder.shape.status,
  statusTimestamp: Int,
});
const Trades = infoShape('recentTrades').refine((trades) => Array.isArray(trades) && trades.length > 0, 'an empty list is never sent');

const UserEvent = z.union([
  z.strictObject({ fills: z.array(Fill).min(1) }),
  z.strictObject({
    liquidation: z.strictObject({
      lid: Int,
      liquidator: Address,
      liquidated_user: Address,
      liquidated_ntl_pos: Dec,
      liquidated_account_value: Dec,
    }),
  }),
  z.strictObject({ nonUserCancel: z.array(z.strictObject({ coin: Coin, oid: Int })).min(1) }),
]);

const WebData3 = z.strictObject({
  userState: z.strictObject({
    agentAddress: Address.nullable(),
    agentValidUntil: Int.nullable(),
    cumLedger: Dec,
    isVault: z.literal(false),
    user: Address,
    serverTime: Int,
  }),
  perpDexStates: z.array(z.strictObject({ totalVaultEquity: Dec, perpsAtOpenInterestCap: Nothing, leadingVaults: Nothing })).length(1),
});

const PostResponse = z.union([
  z.strictObject({ type: z.literal('info'), payload: z.strictObject({ type: z.string(), data: z.unknown() }) }),
  z.strictObject({ type: z.literal('action'), payload: z.looseObject({ status: z.enum(['ok', 'err']), response: z.unknown() }) }),
  z.strictObject({ type: z.literal('error'), payload: z.string().min(1) }),
]);

/** By channel. */
export const HL_SOCKET_SCHEMAS: ReadonlyMap<string, z.ZodType> = new Map<string, z.ZodType>([
  [
    'subscriptionResponse',
    z.strictObject({ method: z.enum(['subscribe', 'unsubscribe']), subscription: z.looseObject({ type: z.string() }) }),
  ],
  ['error', z.string().min(1)],
  ['post', z.strictObject({ id: Int, response: PostResponse })],
  ['allMids', z.strictObject({ mids: infoShape('allMids'), dex: z.string().optional() })],
  ['l2Book', L2Book],
  ['bbo', z.strictObject({ coin: Coin, time: Int, bbo: z.tuple([Level.nullable(), Level.nullable()]) })],
  ['trades', Trades],
  ['candle', Candle],
  ['activeAssetCtx', z.strictObject({ coin: Coin, ctx: Ctx })],
  ['activeSpotAssetCtx', z.strictObject({ coin: z.string(), ctx: SpotCtx })],
  ['activeAssetData', infoShape('activeAssetData')],
  ['assetCtxs', z.strictObject({ dex: z.string(), ctxs: z.array(Ctx) })],
  ['allDexsAssetCtxs', z.strictObject({ ctxs: z.array(z.tuple([z.string(), z.array(Ctx)])) })],
  [
    'fastAssetCtxs',
    z
      .base64()
      .transform(unpacked)
      .pipe(z.record(Coin, z.strictObject({ markPx: Dec, midPx: Dec.optional() }))),
  ],
  ['spotAssetCtxs', z.array(z.unknown())],
  ['orderUpdates', z.array(OrderUpdate).min(1)],
  ['notification', z.strictObject({ notification: z.string().min(1) })],
  ['user', UserEvent],
  ['userFills', z.strictObject({ user: Address, fills: z.array(Fill), isSnapshot: IsSnapshot })],
  [
    'userFundings',
    z.strictObject({ user: Address, fundings: z.array(z.strictObject({ time: Int, ...FundingFields })), isSnapshot: IsSnapshot }),
  ],
  ['userNonFundingLedgerUpdates', z.strictObject({ user: Address, nonFundingLedgerUpdates: Nothing, isSnapshot: IsSnapshot })],
  ['userHistoricalOrders', z.strictObject({ user: Address, orderHistory: z.array(HistoricalOrder), isSnapshot: IsSnapshot })],
  ['userTwapSliceFills', z.strictObject({ user: Address, twapSliceFills: Nothing, isSnapshot: IsSnapshot })],
  ['userTwapHistory', z.strictObject({ user: Address, history: Nothing, isSnapshot: IsSnapshot })],
  ['clearinghouseState', z.strictObject({ dex: z.string(), user: Address, clearinghouseState: ClearinghouseState })],
  [
    'allDexsClearinghouseState',
    z.strictObject({ user: Address, clearinghouseStates: z.array(z.tuple([z.string(), ClearinghouseState])).length(1) }),
  ],
  ['openOrders', z.strictObject({ dex: z.string(), user: Address, orders: z.array(FrontendOrder) })],
  ['spotState', z.strictObject({ user: Address, spotState: infoShape('spotClearinghouseState') })],
  ['twapStates', z.strictObject({ dex: z.string(), user: Address, states: Nothing })],
  ['webData2', infoShape('webData2')],
  ['webData3', WebData3],
]);

/** Every fault of a frame; one of a channel without a schema is a fault too. */
export function frameProblems(frame: { readonly channel: string; readonly data?: unknown }): string[] {
  if (frame.channel === 'pong') return 'data' in frame ? ['a pong says nothing'] : [];
  const checked = HL_SOCKET_SCHEMAS.get(frame.channel)?.safeParse(frame.data);
  if (checked === undefined) return [`no schema describes the channel ${frame.channel}`];
  return checked.success ? [] : [`${frame.channel}: ${z.prettifyError(checked.error)}\n${JSON.stringify(frame.data).slice(0, 2000)}`];
}
