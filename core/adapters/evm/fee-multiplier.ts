import type { PublicClient } from 'viem';
import { daysToSettle, isSettledOn, multiplierSettled } from '../../domain/pricing/fee-tier.js';
import type { Address } from '../../types.js';
import { diamondAbi } from './diamond-abi.js';

const SECONDS_PER_DAY = 86_400n;
const FULL_FEE = 1000n;
/** `TraderEnrollmentStatus`. */
const EXCLUDED = 1;

/**
 * What the trader's next action would pay of this fee. The contract answers with the tier that is settled for today; before the trader's
 * first action of the day that is none, although that action settles it before its own fee. Throws where this Diamond has no fee tiers.
 */
export async function nextFee(client: PublicClient, diamond: Address, trader: Address, fee: bigint): Promise<bigint> {
  const view = { address: diamond, abi: diamondAbi } as const;
  const [settled, info, tiers, enrollment, block] = await Promise.all([
    client.readContract({ ...view, functionName: 'calculateFeeAmount', args: [trader, fee] }),
    client.readContract({ ...view, functionName: 'getFeeTiersTraderInfo', args: [trader] }).catch(absentWhenReverted),
    client.readContract({ ...view, functionName: 'getFeeTiers' }).catch(absentWhenReverted),
    client.readContract({ ...view, functionName: 'getTraderFeeTiersEnrollment', args: [trader] }).catch(absentWhenReverted),
    client.getBlock(),
  ]);
  const day = Number(block.timestamp / SECONDS_PER_DAY);
  if (info === null || tiers === null || enrollment?.status === EXCLUDED || isSettledOn(day, info)) return settled;
  const points = await Promise.all(
    daysToSettle(day, info).map((each) =>
      client.readContract({ ...view, functionName: 'getFeeTiersTraderDailyInfo', args: [trader, each] }).then((found) => found.points),
    ),
  );
  return (settled * multiplierSettled(tiers, info, points)) / FULL_FEE;
}

/** A Diamond without the view reverts, which means null; a node failure is rethrown. */
export function absentWhenReverted(error: unknown): null {
  if (error instanceof Error && error.name === 'ContractFunctionExecutionError' && /revert|returned no data/i.test(error.message))
    return null;
  throw error;
}
