import { useSignal } from '@preact/signals';
import { loaded } from '../api/resource.js';
import { CopyButton } from '../ui/copy.js';
import { Panel } from '../ui/panel.js';
import { Tabs } from '../ui/tabs.js';

const CLIENTS = ['curl', 'ccxt', 'nktkas', 'Python'] as const;
type Client = (typeof CLIENTS)[number];

/** The code of each client with the URL of this very deployment. */
const codeOf = (client: Client, origin: string, chain: string): string => {
  const url = `${origin}/hl/${chain}`;
  const stream = `${url.replace(/^http/, 'ws')}/ws`;
  return {
    curl: `# native API
curl -s ${origin}/v1/${chain}/markets

# the same venue as a Hyperliquid client sees it
curl -s ${url}/info -H 'Content-Type: application/json' -d '{"type":"allMids"}'`,
    ccxt: `import ccxt from 'ccxt';

const exchange = new ccxt.pro.hyperliquid({
  walletAddress: '0x… your trader',
  privateKey: '0x… the key of your agent',
  urls: { api: { public: '${url}', private: '${url}', ws: { public: '${stream}' } } },
});
await exchange.loadMarkets();`,
    nktkas: `import { ExchangeClient, HttpTransport, InfoClient } from '@nktkas/hyperliquid';
import { privateKeyToAccount } from 'viem/accounts';

const transport = new HttpTransport({ apiUrl: '${url}/' }); // with the slash
const info = new InfoClient({ transport });
const exchange = new ExchangeClient({ transport, wallet: privateKeyToAccount('0x… the key of your agent') });`,
    Python: `from eth_account import Account
from hyperliquid.exchange import Exchange
from hyperliquid.info import Info

info = Info("${url}", skip_ws=True)
exchange = Exchange(Account.from_key("0x… the key of your agent"), "${url}", account_address="0x… your trader")`,
  }[client];
};

export function ConnectBot({ chain, connectPath }: { readonly chain: string; readonly connectPath: string | null }) {
  const chosen = useSignal<Client>('curl');
  const code = codeOf(chosen.value, location.origin, chain);
  const base = `${location.origin}/hl/${chain}`;
  return (
    <Panel title="Connect a bot" class="connect-panel" load={READY} rows={6}>
      {() => (
        <div class="connect-body">
          <dl class="pairs urls">
            <div>
              <dt>Hyperliquid base URL</dt>
              <dd>
                <code>{base}</code> <CopyButton text={base} label="Copy URL" />
              </dd>
            </div>
            <div>
              <dt>Native API</dt>
              <dd>
                <code>
                  {location.origin}/v1/{chain}
                </code>{' '}
                <a href="/docs">described here</a>
              </dd>
            </div>
          </dl>
          <Tabs
            label="Clients"
            tabs={CLIENTS.map((name) => ({ name, title: name }))}
            chosen={chosen.value}
            onChoose={(name) => (chosen.value = name)}
          >
            <div class="code-frame">
              <pre tabIndex={0} aria-label={`Code for ${chosen.value}`}>
                <code>{code}</code>
              </pre>
              <CopyButton text={code} label="Copy code" />
            </div>
          </Tabs>
          <p class="note">
            An agent can trade for you and cannot withdraw.{' '}
            {connectPath === null ? (
              'Approve one with your wallet, as on Hyperliquid.'
            ) : (
              <>
                Make and approve one on the page <a href={connectPath}>Connect</a>.
              </>
            )}
          </p>
        </div>
      )}
    </Panel>
  );
}

const READY = loaded(true);
