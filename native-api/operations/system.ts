import { getAddress } from 'viem/utils';
import { agentNameTag } from '../../core/access/facade-agents.js';
import { EMPTY_BODY_HASH, REQUEST_FIELDS, signingDomain } from '../../core/access/typed-data.js';
import type { Address, RelayerDesk } from '../../core/ports.js';
import { readiness } from '../../core/readiness.js';
import { gatewayOperation, venueOperation, type Operation } from '../operation.js';
import { ChainInfo, Health, Ready } from '../wire/system.js';

const relayersOf = (relayer: RelayerDesk | null): Address[] => (relayer?.wallets() ?? []).map((wallet) => getAddress(wallet));

export const systemOperations: readonly Operation[] = [
  gatewayOperation({
    id: 'health',
    method: 'GET',
    path: '/health',
    auth: 'none',
    summary: 'The process is alive.',
    reply: Health,
    handle: ({ gateway }) => ({
      status: 'ok' as const,
      chains: [...gateway.venues.keys()],
      mode: gateway.mode,
      version: gateway.version,
      commit: gateway.commit,
    }),
  }),

  gatewayOperation({
    id: 'ready',
    method: 'GET',
    path: '/ready',
    auth: 'none',
    summary: 'Every chain can be served, or why not.',
    reply: Ready,
    status: (answer) => (answer.ready ? 200 : 503),
    statuses: [200, 503],
    handle: async ({ gateway }) => {
      const { ready, database, chains } = await readiness(gateway);
      const told = Object.entries(chains).map(([slug, chain]) => [
        slug,
        { ...chain, reasons: [...chain.reasons], block: chain.block === null ? null : Number(chain.block) },
      ]);
      return {
        ready,
        database,
        chains: Object.fromEntries(told) as Record<string, { ready: boolean; reasons: string[]; block: number | null }>,
      };
    },
  }),

  venueOperation({
    id: 'getChainInfo',
    method: 'GET',
    path: '/',
    auth: 'none',
    summary: 'Addresses, ids and everything a client needs to sign for this chain.',
    reply: ChainInfo,
    handle: ({ gateway, venue, venue: { definition, clock, relayer } }) => ({
      chain: definition.slug,
      chainId: definition.chainId,
      diamond: definition.diamond,
      relayer: relayersOf(relayer)[0] ?? null,
      relayers: relayersOf(relayer),
      agentNameTag: agentNameTag(venue),
      testnet: definition.testnet,
      serverTime: clock.now(),
      signing: { domain: signingDomain(gateway, definition), fields: [...REQUEST_FIELDS], emptyBodyHash: EMPTY_BODY_HASH },
    }),
  }),
];
