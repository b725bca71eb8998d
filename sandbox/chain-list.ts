import { z } from 'zod';
import { CHAIN_SLUGS, chainBySlug, isChainSlug } from '../core/chains/chains.js';

/** `arbitrum-sepolia,base` → definitions; used by every setting that lists chains. */
export const ChainList = z.string().transform((text, context) => {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !isChainSlug(name));
  if (unknown.length > 0)
    context.addIssue({ code: 'custom', message: `names no chain: ${unknown.join(', ')}; chains are ${CHAIN_SLUGS.join(', ')}` });
  return [...new Set(names.filter(isChainSlug))].map(chainBySlug);
});
