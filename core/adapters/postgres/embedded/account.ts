import { stat } from 'node:fs/promises';

/** PostgreSQL refuses to run as root, so root runs it as the unprivileged system account `nobody`. */
const NOBODY = 65534;

export interface Account {
  readonly uid: number;
  readonly gid: number;
  /** True when we are root and become this account for the server. */
  readonly switch: boolean;
}

/** The account that runs the server: ourselves, or for root the owner of existing data, or the account `nobody`. */
export async function serverAccount(dataFolder: string): Promise<Account> {
  const uid = process.getuid?.() ?? 0;
  if (uid !== 0) return { uid, gid: process.getgid?.() ?? 0, switch: false };
  const owner = await stat(dataFolder).catch(() => null);
  return owner === null || owner.uid === 0 ? { uid: NOBODY, gid: NOBODY, switch: true } : { uid: owner.uid, gid: owner.gid, switch: true };
}
