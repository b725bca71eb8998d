import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { LOADING, loaded, type Load } from '../api/resource.js';
import type { Link, StreamMessage, Topic } from '../api/socket.js';

/** What a subscription amounts to: each message is folded into what was there before. Begins anew with another topic. */
export function useStream<Message, Data>(
  link: Link,
  topic: Topic,
  fold: (before: Data | null, message: StreamMessage<Message>) => Data,
): ReadonlySignal<Load<Data>> {
  const load = useSignal<Load<Data>>(LOADING);
  useEffect(() => {
    load.value = LOADING;
    return link.subscribe<Message>(topic, {
      onMessage: (message) => (load.value = loaded(fold(load.peek().data, message))),
      onProblem: ({ code, message, details }) =>
        (load.value = { ...load.peek(), problem: { status: 0, code, message, details, requestId: null, retryAfterSeconds: null } }),
    });
  }, [link, topic.channel, topic.market, topic.interval]);
  return load;
}
