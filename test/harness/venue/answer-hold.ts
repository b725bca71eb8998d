import type { Gateway } from '../../../core/gateway.js';
import type { FacadeSettings } from '../../../core/config/facade.js';
import type { ChainControls, SandboxControls } from '../../../sandbox/controls.js';

/** While an order can be executed, its answer may take this long: a slow machine is no reason to call it resting. */
const PATIENT_MS = 30_000;
/** While a test keeps blocks or the oracle back, an order is called resting after the time of production. */
const ORDINARY_MS = 6_500;

/** Holds answers of the facade for as long as the state of the chain suggests, and follows what a test does to it. */
export function holdAnswers(controls: SandboxControls, facade: FacadeSettings): SandboxControls {
  const keptBack = new Set<string>();
  const note = (what: string, isKeptBack: boolean): void => {
    keptBack[isKeptBack ? 'add' : 'delete'](what);
    Object.assign(facade, { holdMs: keptBack.size > 0 ? ORDINARY_MS : PATIENT_MS });
  };
  note('', false);
  const followed = (chain: ChainControls): ChainControls => {
    const { slug } = chain.definition;
    return {
      ...chain,
      pauseMining(paused) {
        note(`${slug}: blocks`, paused);
        return chain.pauseMining(paused);
      },
      setRpcFault(fault) {
        note(`${slug}: node`, fault.mode !== 'ok');
        chain.setRpcFault(fault);
      },
      setOraclePolicy(pairIndex, policy) {
        if (pairIndex === null) for (const what of [...keptBack]) if (what.startsWith(`${slug}: oracle`)) note(what, false);
        if (policy.mode !== undefined) note(`${slug}: oracle ${pairIndex ?? 'all'}`, policy.mode === 'hold');
        chain.setOraclePolicy(pairIndex, policy);
      },
      resetOracle() {
        for (const what of [...keptBack]) if (what.startsWith(`${slug}: oracle`)) note(what, false);
        chain.resetOracle();
      },
    };
  };
  return { ...controls, chains: controls.chains.map(followed) };
}

interface WithGateway {
  readonly gateway: Gateway;
}

/** For what cannot be done while this lasts: whatever is asked is answered without a wait for its outcome. */
export async function answeredAtOnce<Answer>({ gateway }: WithGateway, ask: () => Promise<Answer>): Promise<Answer> {
  const { holdMs } = gateway.facade;
  Object.assign(gateway.facade, { holdMs: 0 });
  try {
    return await ask();
  } finally {
    Object.assign(gateway.facade, { holdMs });
  }
}

/** Longer than any test: what would wait for the time of the answer makes its test fail. */
const ENDLESS_MS = 600_000;

/** For what is answered as soon as its outcome is known, and not when the time for the answer is over. Until the first block is kept back or released. */
export const answersWhenKnown = ({ gateway }: WithGateway): void => void Object.assign(gateway.facade, { holdMs: ENDLESS_MS });

/**
 * What is asked until `end` is answered then, unless its outcome is known before: the time for the answer is over once the test has seen what
 * it wants to see. The watch of an order takes the end of the service as it was when the watch began. Keeping blocks or the oracle back, or
 * releasing them, sets the time for later requests as ever, so do so before.
 */
export function answersUntil({ gateway }: WithGateway): { readonly end: () => void } {
  const { stopping } = gateway;
  const { holdMs } = gateway.facade;
  const over = new AbortController();
  Object.assign(gateway, { stopping: AbortSignal.any([stopping, over.signal]) });
  answersWhenKnown({ gateway });
  return {
    end() {
      Object.assign(gateway, { stopping });
      if (gateway.facade.holdMs === ENDLESS_MS) Object.assign(gateway.facade, { holdMs });
      over.abort();
    },
  };
}
