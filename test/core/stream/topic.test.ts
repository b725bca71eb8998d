import { AT_ONCE, createCrowdTopic } from '../../../core/stream/bus.js';
import { createRecordedLog } from '../../harness/checks/recorded-log.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a topic with a crowd', () => {
  it('calls every listener in turns, and lets the process do other things between them', async () => {
    const topic = createCrowdTopic<string>('prices', createRecordedLog());
    const received: number[] = [];
    for (let one = 0; one < 2 * AT_ONCE + 1; one += 1) topic.listen(() => received.push(one));
    const publishing = topic.publish('up');
    expect(received).toHaveLength(AT_ONCE);
    await turn();
    expect(received).toHaveLength(2 * AT_ONCE);
    await publishing;
    expect(received).toEqual(Array.from({ length: 2 * AT_ONCE + 1 }, (_, one) => one));
  });

  it('does not call a listener that left meanwhile or came after the publish', async () => {
    const topic = createCrowdTopic<string>('prices', createRecordedLog());
    const received: string[] = [];
    for (let one = 0; one < AT_ONCE; one += 1) topic.listen(() => undefined);
    const leave = topic.listen(() => received.push('left'));
    topic.listen(() => received.push('stayed'));
    const publishing = topic.publish('up');
    leave();
    topic.listen(() => received.push('came'));
    await publishing;
    expect(received).toEqual(['stayed']);
    await topic.publish('down');
    expect(received).toEqual(['stayed', 'stayed', 'came']);
  });

  it('calls the others when one fails, and logs it', async () => {
    const log = createRecordedLog();
    const topic = createCrowdTopic<string>('prices', log);
    const received: string[] = [];
    topic.listen(() => {
      throw new Error('deaf');
    });
    topic.listen((item) => received.push(item));
    await topic.publish('up');
    expect(received).toEqual(['up']);
    expect(log.entries).toEqual([expect.objectContaining({ event: 'stream.listener-failed' })]);
  });
});
