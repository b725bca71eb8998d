import { formatEther } from 'viem/utils';
import type { ChainConfig, Config, DatabaseConfig } from './config.js';
import { BESIDE_THE_POOL, sslModeOf } from './database.js';
import { adoptCommand } from '../observability/lost-commits.js';
import { redactUrl } from '../observability/redact.js';
import { GWEI, type RelayerConfig } from './relayer.js';
import { NO_REFERRERS, type Referrers } from '../trading/order-variables.js';
import type { RuleSettings } from '../domain/relay/guardrails.js';

/** A readable summary of the settings. URLs are reduced to their host, secrets are omitted. */
export function configSummary(config: Config, walletsOf: (relayer: RelayerConfig) => readonly string[]): string {
  const rows: (readonly [string, string])[] = [
    ['listens on', `${config.host}:${config.port}`],
    ['is called', `${config.serviceName}, commit ${config.commit}, log level ${config.logLevel}`],
    ['database', databaseText(config.database)],
    ['limits', limitsText(config)],
    ['facade', facadeText(config)],
    ['operator', operatorText(config)],
    ['pages', config.pages.length === 0 ? 'none' : config.pages.join(', ')],
    ['traces', config.traces ? `to ${redactUrl(config.traces.url())}, ${config.traces.sampler}` : 'none'],
  ];
  const chains = config.chains.map((chain) => [`${chain.chain.slug} (${chain.chain.chainId})`, chainRows(chain, walletsOf)] as const);
  return [table(rows), ...chains.map(([name, own]) => `${name}\n${table(own, '  ')}`)].join('\n\n');
}

const WIDTH = 14;
const table = (rows: readonly (readonly [string, string])[], indent = ''): string =>
  rows.map(([name, text]) => `${indent}${name.padEnd(WIDTH - indent.length)}${text}`).join('\n');

const seconds = (ms: number): string => `${ms / 1000} s`;

function databaseText(database: DatabaseConfig): string {
  const { poolSize, limits } = database;
  const where =
    database.kind === 'embedded'
      ? `embedded in ${database.folder}`
      : `${redactUrl(database.url)}, sslmode ${sslModeOf(database.url) ?? 'not set'}${database.ca === undefined ? '' : ', own certificates'}`;
  const bounds =
    limits === undefined
      ? ''
      : `; statements end after ${seconds(limits.statementMs)}, waits for locks after ${seconds(limits.lockMs)}, idle transactions after ${seconds(limits.idleTransactionMs)}`;
  return `${where}; up to ${poolSize ?? 0} connections and ${BESIDE_THE_POOL} beside them${bounds}`;
}

function limitsText({ access: { limits, infoWeight, headerPrefixes, trustedProxies }, orders }: Config): string {
  const proxies = typeof trustedProxies === 'number' ? `${trustedProxies} hops` : `${trustedProxies.length} ranges`;
  return [
    `${limits.ip} requests a minute and address (weight ${infoWeight} for /info), ${limits.agent} for an agent, ${limits['agent-writes']} of them writes`,
    `${orders.maxUnsent} unsent orders for ${seconds(orders.preparedMs)}`,
    `headers ${headerPrefixes.join(', ')}`,
    `trusted proxies: ${proxies}`,
  ].join('; ');
}

function facadeText({ facade: { leverage, holdMs, flattens, rules } }: Config): string {
  const bounds = Object.entries(rules.rules).flatMap(([name, bound]) => (bound === null || bound === false ? [] : [`${name} ${bound}`]));
  const traders = [
    ...(rules.allowed === null ? [] : [`${rules.allowed.size} traders allowed`]),
    ...(rules.blocked.size === 0 ? [] : [`${rules.blocked.size} blocked`]),
  ];
  const applied = [...bounds, ...traders].join(', ');
  return `leverage ${leverage} unless chosen, answers held for ${seconds(holdMs)}, scheduled cancels ${flattens ? 'flatten' : 'cancel'}; rules: ${applied === '' ? 'none' : applied}`;
}

function operatorText({ operator: { token, metricsToken, areMetricsPublic, alerts } }: Config): string {
  const routes = token === null ? 'no routes (OPERATOR_TOKEN is not set)' : 'routes behind its token';
  const called = alerts.webhook === null ? 'alerts go to no webhook' : `alerts call ${redactUrl(alerts.webhook.url())}`;
  return `${routes}; metrics ${areMetricsPublic ? 'public' : metricsToken !== null ? 'behind a token of their own' : token === null ? 'off' : 'behind the same token'}; ${called}`;
}

function chainRows(config: ChainConfig, walletsOf: (relayer: RelayerConfig) => readonly string[]): (readonly [string, string])[] {
  const { chain, rpcUrls, wsUrls, backendUrl, pricingUrl, globalUrl, startBlock, confirmations = 0, relayer, referrers } = config;
  return [
    ['Diamond', chain.diamond],
    ['nodes', rpcUrls.map(redactUrl).join(', ')],
    ['new blocks', wsUrls.length === 0 ? 'polled' : `pushed by ${wsUrls.map(redactUrl).join(', ')}`],
    ['backend', [backendUrl, pricingUrl, globalUrl].map(redactUrl).join(', ')],
    ['begins', startBlock === null ? 'a day before now, on an empty database' : `at block ${startBlock}, on an empty database`],
    ['events', confirmations === 0 ? 'count at once' : `count ${confirmations} blocks later`],
    ['referrer', referrerText(referrers ?? NO_REFERRERS)],
    ...(relayer === null
      ? []
      : walletsOf(relayer)
          .filter(isAddress)
          .map((wallet) => ['adoption', adoptionText(chain.slug, wallet)] as const)),
    ['relayer', relayer === null ? 'none: the facade can be read, not traded through' : relayerText(relayer, walletsOf(relayer))],
  ];
}

const referrerText = ({ relayed, native }: Referrers): string =>
  `${relayed ?? 'none'} in openings that the relayer sends, ${native ?? 'none'} in those of agents that name none`;

/** Not every keystore names its address. */
const isAddress = (wallet: string): boolean => wallet.startsWith('0x');

/** Nothing is asked here: the gateway says whether it is needed. */
const adoptionText = (chain: string, wallet: string): string =>
  `only on a database that does not know ${wallet} (see /ready): ${adoptCommand(chain, wallet)}`;

const budgetText = (budget: RelayerConfig['dailyBudget']): string =>
  typeof budget === 'bigint' ? formatEther(budget) : budget === 'half' ? 'half of the highest balance' : 'all it has';
const relayerText = ({ maxFeePerGas, dailyBudget, areDrillsAllowed = false }: RelayerConfig, wallets: readonly string[]): string =>
  `${wallets.join(', ')}; at most ${maxFeePerGas / GWEI} gwei, ${budgetText(dailyBudget)} a wallet and day; drills ${areDrillsAllowed ? 'allowed' : 'refused'}`;

/** What the settings let traders spend of the relayer's coins, logged at start. Stored rules override them. */
export const policyOf = (
  { rules, allowed, blocked }: RuleSettings,
  { maxFeePerGas, dailyBudget = 'unlimited' }: Pick<RelayerConfig, 'maxFeePerGas' | 'dailyBudget'>,
) => ({
  traders: allowed === null ? 'all' : `${allowed.size} allowed`,
  blocked: blocked.size,
  dailyTransactionsOfTrader: rules.dailyTransactions ?? 'unlimited',
  dailyBudgetOfWallet:
    typeof dailyBudget === 'bigint'
      ? formatEther(dailyBudget)
      : dailyBudget === 'half'
        ? 'half of the highest balance of the day'
        : dailyBudget,
  maxFeeGwei: Number(maxFeePerGas / GWEI),
});
