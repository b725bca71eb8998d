import { systemClock } from '../../../core/adapters/system/clock.js';

describe('the clock of the machine', () => {
  it('takes a deadline that has passed as due now, without a warning of the runtime', async () => {
    const warnings: string[] = [];
    const note = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', note);
    await new Promise<void>((resolve) => systemClock.after(-5, resolve));
    await systemClock.sleep(-5);
    await new Promise(setImmediate);
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });
});
