/** Server frames as text. A frame for many connections is serialised once. */

export const frameText = (channel: string, data: unknown): string => wrapText(channel, JSON.stringify(data));

/** Around data that is JSON already. */
export const wrapText = (channel: string, data: string): string => `{"channel":${JSON.stringify(channel)},"data":${data}}`;

export const PONG = '{"channel":"pong"}';

export const errorText = (text: string): string => frameText('error', text);

export const echoText = (method: 'subscribe' | 'unsubscribe', subscription: object): string =>
  frameText('subscriptionResponse', { method, subscription });

export type PostResponse =
  | { readonly type: 'info'; readonly payload: { readonly type: string; readonly data: unknown } }
  | { readonly type: 'action'; readonly payload: unknown }
  | { readonly type: 'error'; readonly payload: string };

export const postText = (id: number, response: PostResponse): string => frameText('post', { id, response });
