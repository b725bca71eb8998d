import type { AgentCaller } from '../access/caller.js';
import { GatewayError } from '../errors.js';
import type { Gateway, Venue } from '../gateway.js';
import type { PreparedOrder } from './find-order.js';
import { orderMarket, type OrderRequest } from './order-request.js';

export function reduceOrder(_gateway: Gateway, venue: Venue, _caller: AgentCaller, request: OrderRequest): Promise<PreparedOrder> {
  orderMarket(venue, request);
  throw new GatewayError('UNSUPPORTED', { reason: 'Reduce a position through POST /positions/{id}/close.' });
}
