import { GatewayError } from '../../core/errors.js';
import type { Channel } from '../wire/stream.js';
import type { OpenChannel } from './channel.js';
import { publicChannels } from './public-channels.js';

const notYet: OpenChannel = () => {
  throw new GatewayError('UNSUPPORTED', { reason: 'not yet' });
};

/** The one place that knows every channel. */
export const CHANNEL_ROWS: Readonly<Record<Channel, OpenChannel>> = {
  ...publicChannels,
  orders: notYet,
  fills: notYet,
  positions: notYet,
  account: notYet,
};
