import type { Alerts } from './alerts.js';
import type { RelayStore } from '../../ports/stores/relay.js';

/** The same store; somebody is called when a lane is fenced because its key cannot be used, and told when it is not that any more. */
export const alertKeys = (store: RelayStore, alerts: Alerts): RelayStore => ({
  ...store,
  // First of all: what cannot be stored is told again, and the alert with it.
  async fenceLane(chain, wallet, fence) {
    const name = { kind: 'key-trouble', chain, subject: wallet } as const;
    if (fence?.cause !== 'key') await alerts.recoverAlert(name, `The wallet ${wallet} signs again.`);
    else
      await alerts.raiseAlert({
        ...name,
        message: `The wallet ${wallet} cannot sign: ${fence.reason}.`,
        details: { reason: fence.reason },
      });
    await store.fenceLane(chain, wallet, fence);
  },
});
