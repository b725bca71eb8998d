/** A Diamond without the view reverts, which means null; a node failure is rethrown. */
export function absentWhenReverted(error: unknown): null {
  if (error instanceof Error && error.name === 'ContractFunctionExecutionError' && /revert|returned no data/i.test(error.message))
    return null;
  throw error;
}
