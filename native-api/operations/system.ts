import { getAddress } from 'viem/utils';
import { agentNameTag } from '../../core/access/facade-agents.js';
import {
  EMPTY_BODY_HASH,
  MASTER_TYPES,
  masterFields,
  OPTIONAL_FIELDS,
  REQUEST_FIELDS,
  signingDomain,
  type MasterForm,
  type MasterType,
} from '../../core/access/signature.js';
import type { Address } from '../../core/types.js';
import { readiness, type ChainReadiness } from '../../core/observability/readiness.js';
import type { Relayer } from '../../core/ports/relayer.js';
import { gatewayOperation, venueOperation, type Operation } from '../operation.js';
import { ChainInfo, Health, Ready, type ChainReady } from '../wire/system.js';

/** Both forms of every master message; optional fields have their place in the signed type if the body contains them. */
const MASTER_FORMS = Object.fromEntries(
  (Object.keys(MASTER_TYPES) as MasterType[]).map((type) => {
    const optional = type === 'ApiKeyIssue' ? OPTIONAL_FIELDS.ApiKeyIssue.map(({ name }) => name) : [];
    const fields = (form: MasterForm) => masterFields(type, optional, form).map((field) => ({ ...field }));
    return [type, { key: fields('key'), contract: fields('contract'), optional }];
  }),
);

const relayersOf = (relayer: Pick<Relayer, 'wallets'> | null): Address[] => (relayer?.wallets() ?? []).map((wallet) => getAddress(wallet));

const addressOf = (address: Address | null): Address | null => address && getAddress(address);

const count = (blocks: bigint | null): number | null => (blocks === null ? null : Number(blocks));

const chainReady = ({ ready, reasons, notes, relayer, block, headAgeMs, priceAgeMs, followed, endpoints }: ChainReadiness): ChainReady => ({
  ready,
  reasons: [...reasons],
  notes: [...notes],
  relayer: relayer && { ready: relayer.ready, reasons: [...relayer.reasons] },
  block: count(block),
  headAgeMs: headAgeMs === null ? null : Math.round(headAgeMs),
  priceAgeMs: priceAgeMs === null ? null : Math.round(priceAgeMs),
  followed: {
    block: count(followed.block),
    behind: count(followed.behind),
    catchUp: followed.catchUp && { ...followed.catchUp, behind: Number(followed.catchUp.behind) },
  },
  endpoints: endpoints.map((endpoint) => ({ ...endpoint, head: count(endpoint.head) })),
});

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
      const { ready, stopping, database, chains } = await readiness(gateway);
      return {
        ready,
        stopping,
        database: { ready: database.ready, reasons: [...database.reasons], notes: [...database.notes] },
        chains: Object.fromEntries(Object.entries(chains).map(([slug, chain]) => [slug, chainReady(chain)])),
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
      referrer: addressOf(venue.referrers.relayed),
      nativeReferrer: addressOf(venue.referrers.native),
      agentNameTag: agentNameTag(venue),
      testnet: definition.testnet,
      serverTime: clock.now(),
      signing: {
        domain: signingDomain(gateway, definition),
        fields: [...REQUEST_FIELDS],
        emptyBodyHash: EMPTY_BODY_HASH,
        masterTypes: MASTER_FORMS,
      },
    }),
  }),
];
