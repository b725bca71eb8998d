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
