import { z } from 'zod';
import { accessSettings, ENTRANCE_VARIABLES } from '../../../core/access/access-variables.js';
import { clientAddress } from '../../../core/access/client-address.js';

const Variables = z.object(ENTRANCE_VARIABLES);
const settings = (variables: Record<string, string>) => accessSettings(Variables.parse(variables));

describe('the settings of request authentication', () => {
  it('are the launch values when no variable is set', () => {
    expect(settings({})).toEqual({
      limits: { ip: 600, agent: 300, 'agent-writes': 60 },
      infoWeight: 1_200,
      connections: { total: 10_000, perAddress: 1_000 },
      sockets: { sockets: 100, subscriptions: 1_000, users: 10 },
      headerPrefixes: ['X-Service-'],
      trustedProxies: [],
    });
  });

  it('change by name', () => {
    const { limits, headerPrefixes } = settings({
      RATE_LIMIT_IP: '1',
      RATE_LIMIT_AGENT: '2',
      RATE_LIMIT_AGENT_WRITES: '3',
      HEADER_PREFIXES: 'X-Service-, X-Brand-',
    });
    expect(limits).toEqual({ ip: 1, agent: 2, 'agent-writes': 3 });
    expect(settings({ RATE_LIMIT_IP: '7' }).infoWeight).toBe(14);
    expect(settings({ RATE_LIMIT_INFO_WEIGHT: '5000' }).infoWeight).toBe(5_000);
    expect(headerPrefixes).toEqual(['X-Service-', 'X-Brand-']);
  });

  it.each([
    ['10.0.0.0/8, fd00::/8', '10.1.2.3', '9.9.9.9'],
    ['10.0.0.0/8, fd00::/8', '11.1.2.3', '11.1.2.3'],
    ['1', '11.1.2.3', '9.9.9.9'],
    ['0', '11.1.2.3', '11.1.2.3'],
  ])('trust the proxies %s', (TRUSTED_PROXIES, peer, client) => {
    expect(clientAddress(peer, '9.9.9.9', settings({ TRUSTED_PROXIES }).trustedProxies)).toBe(client);
  });

  it.each([
    ['RATE_LIMIT_IP', '0'],
    ['SOCKETS_PER_IP', '0'],
    ['RATE_LIMIT_IP', 'many'],
    ['RATE_LIMIT_AGENT', '1.5'],
    ['HEADER_PREFIXES', 'X Service'],
    ['HEADER_PREFIXES', ','],
    ['TRUSTED_PROXIES', '10.0.0.0/40'],
    ['TRUSTED_PROXIES', 'everybody'],
    ['TRUSTED_PROXIES', '10.0.0.1,,10.0.0.2'],
  ])('refuse %s=%s', (name, value) => expect(Variables.safeParse({ [name]: value }).success).toBe(false));
});
