import { AT_ONCE, createCrowdTopic } from '../../../core/stream/topic.js';
import { createRecordedLog } from '../../harness/checks/recorded-log.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a topic with a crowd', () => {
  it('tells everybody in turns, and lets the process do other things between them', async () => {
    const topic = createCrowdTopic<string>('prices', createRecordedLog());
    const heard: number[] = [];
    for (let one = 0; one < 2 * AT_ONCE + 1; one += 1) topic.listen(() => heard.push(one));
    const told = topic.publish('up');
    expect(heard).toHaveLength(AT_ONCE);
    await turn();
    expect(heard).toHaveLength(2 * AT_ONCE);
    await told;
    expect(heard).toEqual(Array.from({ length: 2 * AT_ONCE + 1 }, (_, one) => one));
  });

  it('tells nobody who left meanwhile or came after it was said', async () => {
    const topic = createCrowdTopic<string>('prices', createRecordedLog());
    const heard: string[] = [];
    for (let one = 0; one < AT_ONCE; one += 1) topic.listen(() => undefined);
    const leave = topic.listen(() => heard.push('left'));
    topic.listen(() => heard.push('stayed'));
    const told = topic.publish('up');
    leave();
    topic.listen(() => heard.push('came'));
    await told;
    expect(heard).toEqual(['stayed']);
    await topic.publish('down');
    expect(heard).toEqual(['stayed', 'stayed', 'came']);
  });

  it('tells the others when one fails, and says so', async () => {
    const log = createRecordedLog();
    const topic = createCrowdTopic<string>('prices', log);
    const heard: string[] = [];
    topic.listen(() => {
      throw new Error('deaf');
    });
    topic.listen((item) => heard.push(item));
    await topic.publish('up');
    expect(heard).toEqual(['up']);
    expect(log.entries).toEqual([expect.objectContaining({ event: 'stream.listener-failed' })]);
  });
});
