import type { Crypto } from '../../access/signature.js';
import type { Logger } from '../../ports/log.js';
import { loadKeccak } from './keccak.js';
import { loadNativeRecover } from './native-recover.js';
import { rememberRecoveries } from './remember-recoveries.js';
import { loadWasmRecover } from './wasm-recover.js';

/** The fastest hash and curve this machine supports, loaded once and logged. */
export async function loadCrypto(log: Logger): Promise<Crypto> {
  const keccak = await loadKeccak();
  const native = loadNativeRecover(keccak);
  log.info('crypto.ready', { recovery: native === null ? 'libsecp256k1 WebAssembly' : 'libsecp256k1 addon' });
  return { keccak, recover: rememberRecoveries(native ?? (await loadWasmRecover(keccak))) };
}
