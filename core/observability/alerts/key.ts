import type { Alerts } from './alerts.js';
import type { RelayStore } from '../../ports/stores/relay.js';

/** Wraps the store: raises an alert when a lane is fenced because its key cannot be used, and recovers it afterwards. */
export const alertKeys = (store: RelayStore, alerts: Alerts): RelayStore => ({
  ...store,
  // Before the write: a failed write is repeated by the caller, and the alert with it.
  async storeLaneProblem(chain, wallet, problem) {
    const name = { kind: 'key-trouble', chain, subject: wallet } as const;
    if (problem?.cause !== 'key') await alerts.recoverAlert(name, `The wallet ${wallet} signs again.`);
    else
      await alerts.raiseAlert({
        ...name,
        message: `The wallet ${wallet} cannot sign: ${problem.reason}.`,
        details: { reason: problem.reason },
      });
    await store.storeLaneProblem(chain, wallet, problem);
  },
});
