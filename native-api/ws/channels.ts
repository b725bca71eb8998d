import type { Channel } from '../wire/stream.js';
import type { OpenChannel } from './channel.js';
import { privateChannels } from './private-channels.js';
import { publicChannels } from './public-channels.js';

/** All channels. */
export const CHANNEL_ROWS: Readonly<Record<Channel, OpenChannel>> = {
  ...publicChannels,
  ...privateChannels,
};
