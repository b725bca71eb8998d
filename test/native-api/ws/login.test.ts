import type { Gateway } from '../../../core/gateway.js';
import type { VenueStream } from '../../../core/stream/venue-stream.js';
import { openLogin } from '../../../native-api/ws/login.js';
import { eventually } from '../../harness/time/eventually.js';

it('lets what waited behind a login go on, in order, though the refusal and some of it fail', async () => {
  const done: string[] = [];
  const failed: string[] = [];
  const gateway = { access: { countAddress: () => ({ isExceeded: false }) } } as unknown as Gateway;
  const login = openLogin({
    gateway,
    stream: { venue: {} } as unknown as VenueStream,
    address: '127.0.0.1',
    onEntered: () => undefined,
    onRefused: () => {
      throw new Error('refusal');
    },
    onLost: () => undefined,
    fail: (error) => failed.push((error as Error).message),
  });
  const task = (name: string): void => login.whenSettled(() => void done.push(name));
  const broken = (name: string): void =>
    login.whenSettled(() => {
      throw new Error(name);
    });
  login.enter({ op: 'auth', apiKey: 'a guess' });
  task('first');
  broken('second');
  task('third');
  login.whenSettled(() => login.enter({ op: 'auth', apiKey: 'another' }));
  task('fourth');
  await eventually(
    () => done,
    ({ length }) => length === 3,
  );
  expect(done).toEqual(['first', 'third', 'fourth']);
  expect(failed).toEqual(['refusal', 'second', 'refusal']);
});
