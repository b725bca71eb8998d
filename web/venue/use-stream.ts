import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { createPaced } from '../api/paced.js';
import { LOADING, loaded, type Load } from '../api/resource.js';
import type { Link, StreamMessage, Topic } from '../api/socket.js';

const PAUSE_MS = 250;

/** What a subscription amounts to: each message is folded into what was there before. Begins anew with another topic. */
export function useStream<Message, Data>(
  link: Link,
  topic: Topic,
  fold: (before: Data | null, message: StreamMessage<Message>) => Data,
): ReadonlySignal<Load<Data>> {
  const load = useSignal<Load<Data>>(LOADING);
  useEffect(() => {
    load.value = LOADING;
    let folded: Data | null = null;
    const paced = createPaced<Data>((data) => (load.value = loaded(data)), PAUSE_MS);
    const cancel = link.subscribe<Message>(topic, {
      onMessage(message) {
        folded = fold(folded, message);
        paced.push(folded);
      },
      onProblem: ({ code, message, details }) =>
        (load.value = { ...load.peek(), problem: { status: 0, code, message, details, requestId: null, retryAfterSeconds: null } }),
    });
    return () => {
      cancel();
      paced.stop();
    };
  }, [link, topic.channel, topic.market, topic.interval]);
  return load;
}
