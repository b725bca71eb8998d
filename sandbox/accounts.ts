import type { PrivateKeyAccount } from 'viem/accounts';
import { demoKey } from '../core/config/relayer-keys.js';
import type { Hex } from '../core/types.js';
import { localSigner } from './local-signer.js';

/** `operator` runs the venue (oracle, keeper, faucet); the others are for users and listed in `GET /sandbox`. */
export const DEMO_ROLES = ['trader', 'agent', 'hl-trader', 'hl-agent'] as const;
export type DemoRole = (typeof DEMO_ROLES)[number];
export type SandboxRole = DemoRole | 'operator' | 'relayer';

export interface SandboxAccount {
  readonly role: SandboxRole;
  readonly address: `0x${string}`;
  readonly privateKey: Hex;
  readonly signer: PrivateKeyAccount;
}

/** Keys are derived from the seed alone; production refuses them. */
export function sandboxAccount(seed: string, role: SandboxRole): SandboxAccount {
  const privateKey = demoKey(seed, role);
  const signer = localSigner(privateKey);
  return { role, address: signer.address, privateKey, signer };
}

export type SandboxAccounts = Readonly<Record<SandboxRole, SandboxAccount>>;

export const sandboxAccounts = (seed: string): SandboxAccounts => ({
  operator: sandboxAccount(seed, 'operator'),
  relayer: sandboxAccount(seed, 'relayer'),
  trader: sandboxAccount(seed, 'trader'),
  agent: sandboxAccount(seed, 'agent'),
  'hl-trader': sandboxAccount(seed, 'hl-trader'),
  'hl-agent': sandboxAccount(seed, 'hl-agent'),
});
