import { useSignal } from '@preact/signals';
import { CopyButton } from '../ui/copy.js';
import { Tabs } from '../ui/tabs.js';
import type { PageContext } from '../ui/shell.js';

const CLIENTS = ['curl', 'client', 'ccxt', 'nktkas', 'python'] as const;
type ClientName = (typeof CLIENTS)[number];
const TITLES: Readonly<Record<ClientName, string>> = {
  curl: 'curl',
  client: 'TypeScript client',
  ccxt: 'ccxt',
  nktkas: '@nktkas/hyperliquid',
  python: 'Python SDK',
};

interface BotSettingsProps {
  readonly page: PageContext;
  /** Null before a wallet is connected. */
  readonly address: string | null;
}

/** What a bot needs: where, for whom, and the key that only you have. */
export function BotSettings({ page, address }: BotSettingsProps) {
  const chosen = useSignal<ClientName>('curl');
  const text = textOf(page, address ?? 'YOUR_WALLET_ADDRESS')[chosen.value];
  return (
    <section class="panel" aria-labelledby="bot-title" data-state="ready">
      <div class="panel-head">
        <h2 id="bot-title">5 · Settings of your bot</h2>
        <div class="panel-tools">
          <CopyButton text={text} label="Copy settings" />
        </div>
      </div>
      <Tabs
        label="Client"
        tabs={CLIENTS.map((name) => ({ name, title: TITLES[name] }))}
        chosen={chosen.value}
        onChoose={(name) => void (chosen.value = name)}
      >
        <pre class="snippet" tabIndex={0} aria-label={`Settings for ${TITLES[chosen.value]}`}>
          {text}
        </pre>
      </Tabs>
      <p class="card-foot muted">
        Replace AGENT_KEY by the key that you stored; keep it out of source code. Wallet keys belong in no bot: an agent is enough.
      </p>
    </section>
  );
}

function textOf({ chain }: PageContext, account: string): Readonly<Record<ClientName, string>> {
  const { origin } = location;
  const native = `${origin}/v1/${chain}`;
  const base = `${origin}/hl/${chain}`;
  const stream = `${base.replace(/^http/, 'ws')}/ws`;
  return {
    curl: [
      `# can this account trade, and what is missing?`,
      `curl -s ${native}/readiness/${account}`,
      `# the Hyperliquid API, read by anybody`,
      `curl -s ${base}/info -H 'Content-Type: application/json' -d '{"type":"clearinghouseState","user":"${account}"}'`,
    ].join('\n'),
    client: [
      `import { createClient } from '@diamond-gateway/client';`,
      `const client = createClient({`,
      `  url: '${origin}',`,
      `  chain: '${chain}',`,
      `  trader: '${account}',`,
      `  agent: process.env.AGENT_KEY,`,
      `  rpc: process.env.RPC_URL,`,
      `});`,
      `await client.execute('createOrder', { market: 'BTC/USD', side: 'long', type: 'market', size: '0.05', leverage: '10' });`,
    ].join('\n'),
    ccxt: [
      `const exchange = new ccxt.pro.hyperliquid({`,
      `  walletAddress: '${account}',`,
      `  privateKey: process.env.AGENT_KEY,`,
      `  urls: { api: { public: '${base}', private: '${base}', ws: { public: '${stream}' } } },`,
      `}); // without setSandboxMode: it would lead to Hyperliquid's own test network`,
    ].join('\n'),
    nktkas: [
      `const transport = new HttpTransport({ apiUrl: '${base}/' });`,
      `const info = new InfoClient({ transport });`,
      `const exchange = new ExchangeClient({ transport, wallet: privateKeyToAccount(process.env.AGENT_KEY) });`,
      `await info.clearinghouseState({ user: '${account}' });`,
    ].join('\n'),
    python: [
      `import os, eth_account`,
      `from hyperliquid.exchange import Exchange`,
      `agent = eth_account.Account.from_key(os.environ["AGENT_KEY"])`,
      `exchange = Exchange(agent, base_url="${base}", account_address="${account}")`,
    ].join('\n'),
  };
}
