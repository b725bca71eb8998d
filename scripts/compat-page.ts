import type { ClientReport } from '../facade/exchange.js';

export const PAGE_BEGIN = '<!-- compatibility: written by `npm run compat` -->';
export const PAGE_END = '<!-- /compatibility -->';

/** How the tests configure each client, to be copied; `BASE` is `https://host/hl/{chain}`. By the names of the report. */
const SETTINGS: Readonly<Record<string, { readonly code: string; readonly notes: string }>> = {
  '@nktkas/hyperliquid': {
    code: `const transport = new HttpTransport({ apiUrl: \`\${BASE}/\` });
const info = new InfoClient({ transport });
const exchange = new ExchangeClient({ transport, wallet: agentWallet });
const stream = new SubscriptionClient({ transport: new WebSocketTransport({ url: \`\${BASE.replace('http', 'ws')}/ws\` }) });`,
    notes:
      'The slash at the end is needed before 0.33: without it the chain is lost. Before Node 22 the stream wants a socket: `globalThis.WebSocket = WebSocket` from `ws`; 0.30 also a method `dispatchEvent` on it. `isTestnet: true` lets `approveAgent` pass without the tag on test networks; elsewhere the agent name begins with `agentNameTag` of `GET /v1/{chain}`.',
  },
  ccxt: {
    code: `const exchange = new ccxt.pro.hyperliquid({
  walletAddress: trader,
  privateKey: agentKey,
  urls: { api: { public: BASE, private: BASE, ws: { public: \`\${BASE.replace('http', 'ws')}/ws\` } } },
});
await exchange.loadHttpProxyAgent(); // for a stream without TLS alone`,
    notes:
      "No slash at the end. `setSandboxMode(true)` replaces `urls.api` by `urls.test`, which leads to Hyperliquid's own testnet: leave it out, or set `urls.test` to the same addresses. The tests set `enableRateLimit: false` to be quick; leave it on. It cannot approve an agent: do that with another client or a wallet.",
  },
  'hyperliquid (nomeida)': {
    code: `import { BASE_URLS, Hyperliquid, WSS_URLS } from 'hyperliquid';
BASE_URLS.PRODUCTION = BASE;
WSS_URLS.PRODUCTION = \`\${BASE.replace('http', 'ws')}/ws\`;
globalThis.require = createRequire(import.meta.url); // as a module: it looks for the package ws there
const sdk = new Hyperliquid({ privateKey: agentKey, walletAddress: trader, enableWs: true });`,
    notes:
      'It has no setting for its address; the two constants are assigned before it is made. `enableWs: false` where no stream is wanted, `disableAssetMapRefresh: true` where it should not ask for the markets every minute.',
  },
};

function settingsOf(client: string): string[] {
  const settings = SETTINGS[client];
  if (settings === undefined) throw new Error(`there are no settings for ${client}`);
  return ['', `**${client}**`, '', '```ts', settings.code, '```', '', settings.notes];
}

/** The page: one row per flow, one column per client, and how each client is configured. */
export function compatPage(report: readonly ClientReport[], flows: readonly string[]): string {
  const heads = report.map(({ client, version }) => `${client} ${version}`);
  const rows = flows
    .filter((flow) => report.some((client) => outcome(client, flow) !== undefined))
    .map((flow) => [flow, ...report.map((client) => cell(outcome(client, flow)))]);
  const table = [['', ...heads], ['---', ...heads.map(() => '---')], ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  const clients = [...new Set(report.map(({ client }) => client))];
  return [PAGE_BEGIN, '', ...table, ...clients.flatMap(settingsOf), '', PAGE_END].join('\n');
}

const outcome = ({ flows }: ClientReport, name: string): boolean | undefined => flows.find(({ flow }) => flow === name)?.isPassed;

/** Empty if the client lacks the feature, or it was not tested. */
const cell = (isPassed: boolean | undefined): string => (isPassed === undefined ? '' : isPassed ? 'pass' : '**fails**');

/** Replaces the page in the text. */
export function withPage(text: string, page: string): string {
  const [begin, end] = [text.indexOf(PAGE_BEGIN), text.indexOf(PAGE_END)];
  if (begin < 0 || end < begin) throw new Error(`the marks of the page are missing: ${PAGE_BEGIN}`);
  return text.slice(0, begin) + page + text.slice(end + PAGE_END.length);
}
