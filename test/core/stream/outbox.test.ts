import { createConflated, createOutbox, mergeBy, type Outbox } from '../../../core/stream/outbox.js';

/** A connection that accepts messages only when the test flushes it. */
function createConnection() {
  const sent: string[] = [];
  const callbacks: (() => void)[] = [];
  return {
    sent,
    send: (text: string, done: () => void): void => {
      sent.push(text);
      callbacks.push(done);
    },
    /** Completes every send so far. */
    flush(): void {
      for (const done of callbacks.splice(0)) done();
    },
  };
}

const LIMITS = { inFlight: 10, queued: 30 };

function open(): { connection: ReturnType<typeof createConnection>; outbox: Outbox; slow: () => number; faults: unknown[] } {
  const connection = createConnection();
  let slow = 0;
  const faults: unknown[] = [];
  return {
    connection,
    outbox: createOutbox(connection, LIMITS, { onSlow: () => (slow += 1), onFault: (error) => faults.push(error) }),
    slow: () => slow,
    faults,
  };
}

describe('the outbox', () => {
  it('hands over in order, and no more than the network may hold', () => {
    const { connection, outbox, slow } = open();
    for (const text of ['aaaaa', 'bbbbb', 'ccccc', 'ddddd']) outbox.push(text);
    expect(connection.sent).toEqual(['aaaaa', 'bbbbb']);
    connection.flush();
    expect(connection.sent).toEqual(['aaaaa', 'bbbbb', 'ccccc', 'ddddd']);
    expect(slow()).toBe(0);
  });

  it('gives up a slow connection once, and takes nothing more', () => {
    const { connection, outbox, slow } = open();
    for (let count = 0; count < 10; count += 1) outbox.push('x'.repeat(10));
    expect(slow()).toBe(1);
    connection.flush();
    outbox.push('more');
    expect(connection.sent.length).toBe(1);
  });

  it('takes an offer once the connection has capacity, and once however often it was made', () => {
    const { connection, outbox } = open();
    let asked = 0;
    const offer = { take: () => `offer ${(asked += 1)}` };
    outbox.push('x'.repeat(10));
    for (let count = 0; count < 1_000; count += 1) outbox.offer(offer);
    outbox.push('pushed');
    expect(asked).toBe(0);
    connection.flush();
    expect(connection.sent.slice(1)).toEqual(['pushed', 'offer 1']);
  });

  it('goes on when an offer throws or has no text', () => {
    const { connection, outbox, faults } = open();
    outbox.offer({
      take: () => {
        throw new Error('lost for words');
      },
    });
    outbox.offer({ take: () => null });
    outbox.offer({ take: () => 'said' });
    expect([connection.sent, faults.length]).toEqual([['said'], 1]);
  });

  it('asks nothing of an offer that was withdrawn', () => {
    const { connection, outbox } = open();
    const offer = { take: () => 'never' };
    outbox.push('x'.repeat(10));
    outbox.offer(offer);
    outbox.withdraw(offer);
    connection.flush();
    expect(connection.sent).toEqual(['x'.repeat(10)]);
  });

  it('resolves whenEmpty once it is empty, also at the end', async () => {
    const { connection, outbox } = open();
    await outbox.whenEmpty();
    outbox.push('x'.repeat(10));
    outbox.push('y');
    const waits = outbox.whenEmpty();
    let isAwake = false;
    void waits.then(() => (isAwake = true));
    await Promise.resolve();
    expect(isAwake).toBe(false);
    connection.flush();
    await waits;
    outbox.push('z'.repeat(20));
    outbox.push('z');
    const ended = outbox.whenEmpty();
    outbox.end();
    await ended;
  });
});

describe('changes that pile up', () => {
  it('are merged, the latest of a kind winning, and said in one piece', () => {
    const { connection, outbox, slow } = open();
    const changes = createConflated<readonly { key: string; value: number }[]>(
      outbox,
      mergeBy(({ key }) => key),
      (items) => items.map(({ key, value }) => `${key}${value}`).join(),
    );
    changes.publish([{ key: 'a', value: 0 }]);
    outbox.push('x'.repeat(10));
    for (let value = 1; value <= 5_000; value += 1)
      changes.publish([
        { key: 'a', value },
        { key: value % 2 === 0 ? 'b' : 'c', value },
      ]);
    expect(connection.sent).toEqual(['a0', 'x'.repeat(10)]);
    connection.flush();
    expect(connection.sent[2]).toBe('a5000,c4999,b5000');
    expect(slow()).toBe(0);
  });

  it('are dropped when the subscription stops', () => {
    const { connection, outbox } = open();
    const changes = createConflated<string>(
      outbox,
      (_waiting, next) => next,
      (text) => text,
    );
    outbox.push('x'.repeat(10));
    changes.publish('late');
    changes.stop();
    connection.flush();
    expect(connection.sent).toEqual(['x'.repeat(10)]);
  });
});
