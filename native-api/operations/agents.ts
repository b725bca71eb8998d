import { z } from 'zod';
import { createAgent, getAgent, revokeAgent } from '../../core/access/agents.js';
import { deleteApiKey, issueApiKey, listApiKeys } from '../../core/access/api-keys.js';
import { venueOperation, type Operation } from '../operation.js';
import {
  AgentReply,
  ApiKeyList,
  ApiKeyRemoval,
  ApiKeyRemovalReply,
  ApiKeyRequest,
  CreateAgentRequest,
  IssuedApiKey,
  RevocationReply,
  RevokeAgentRequest,
} from '../wire/agents.js';
import { AnyAddress } from '../wire/codec.js';

const AgentPath = z.object({ address: AnyAddress });

export const agentOperations: readonly Operation[] = [
  venueOperation({
    id: 'createAgent',
    method: 'POST',
    path: '/agents',
    auth: 'master',
    summary: "Authorise an agent, or replace its name and scope, with the master wallet's AgentAuthorization signature.",
    body: CreateAgentRequest,
    reply: AgentReply,
    status: () => 201,
    statuses: [201],
    errors: ['TRADER_MISMATCH', 'UNSUPPORTED', 'UPSTREAM_UNAVAILABLE', 'NOT_READY'],
    handle: ({ gateway, venue, from, body }) => createAgent(gateway, venue, { ...body, from }),
  }),

  venueOperation({
    id: 'getAgent',
    method: 'GET',
    path: '/agents/:address',
    auth: 'none',
    summary: 'An agent with its status, and the transaction the trader still has to send.',
    params: AgentPath,
    reply: AgentReply,
    errors: ['AGENT_NOT_FOUND', 'UPSTREAM_UNAVAILABLE'],
    handle: ({ gateway, venue, params }) => getAgent(gateway, venue, params.address),
  }),

  venueOperation({
    id: 'revokeAgent',
    method: 'DELETE',
    path: '/agents/:address',
    auth: 'master',
    summary: "Revoke an agent at once, with the master wallet's AgentRevocation signature.",
    params: AgentPath,
    body: RevokeAgentRequest,
    reply: RevocationReply,
    errors: ['AGENT_NOT_FOUND', 'TRADER_MISMATCH', 'UPSTREAM_UNAVAILABLE'],
    handle: ({ gateway, venue, from, params, body }) => revokeAgent(gateway, venue, { ...body, from, agent: params.address }),
  }),

  venueOperation({
    id: 'issueApiKey',
    method: 'POST',
    path: '/api-keys',
    auth: 'master',
    summary:
      "Issue a read-only API key, shown once, with the master wallet's ApiKeyIssue signature; the same label replaces the older key.",
    body: ApiKeyRequest,
    reply: IssuedApiKey,
    errors: ['UNSUPPORTED', 'UPSTREAM_UNAVAILABLE'],
    handle: ({ gateway, venue, from, body }) => issueApiKey(gateway, venue, { ...body, from }),
  }),

  venueOperation({
    id: 'listApiKeys',
    method: 'GET',
    path: '/account/:address/api-keys',
    auth: 'reader',
    summary: 'Labels and dates of the API keys of the account, newest first; never a key itself.',
    params: AgentPath,
    reply: ApiKeyList,
    handle: async ({ gateway, venue, caller }) => ({ data: await listApiKeys(gateway, venue, caller.trader) }),
  }),

  venueOperation({
    id: 'deleteApiKey',
    method: 'DELETE',
    path: '/api-keys',
    auth: 'master',
    summary: "Delete the API key of a label at once, with the master wallet's ApiKeyRevocation signature.",
    body: ApiKeyRemoval,
    reply: ApiKeyRemovalReply,
    errors: ['UPSTREAM_UNAVAILABLE'],
    handle: ({ gateway, venue, from, body }) => deleteApiKey(gateway, venue, { ...body, from }),
  }),
];
