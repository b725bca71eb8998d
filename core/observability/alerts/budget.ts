import { formatEther } from 'viem/utils';
import type { ChainDefinition, ChainSlug } from '../../chains/chains.js';
import type { Address } from '../../types.js';
import type { Alerts } from './alerts.js';

type Named = ChainDefinition & { readonly slug: ChainSlug };

const nameOf = ({ slug }: Named, wallet: Address) => ({ kind: 'budget-reached', chain: slug, subject: wallet }) as const;

export async function alertBudget(
  alerts: Alerts,
  chain: Named,
  used: { readonly wallet: Address; readonly spentWei: bigint; readonly budgetWei: bigint; readonly freesAt: number },
): Promise<void> {
  const { wallet, spentWei, budgetWei, freesAt } = used;
  const figures = `${formatEther(spentWei)} of ${formatEther(budgetWei)} ${chain.nativeSymbol}`;
  await alerts.raiseAlert({
    ...nameOf(chain, wallet),
    message: `The relayer wallet ${wallet} on ${chain.name} has spent ${figures} today: only cancels and closes are sent until the day ends or the wallet is topped up.`,
    details: { spentWei: spentWei.toString(), budgetWei: budgetWei.toString() },
    expiresAt: freesAt,
  });
}

export const recoverBudget = (alerts: Alerts, chain: Named, wallet: Address): Promise<void> =>
  alerts.recoverAlert(nameOf(chain, wallet), `The relayer wallet ${wallet} on ${chain.name} is within its budget again.`);
