import { inspect } from 'node:util';
import { encryptKeystoreJson, Wallet } from 'ethers';
import { ConfigError, readConfig } from '../../core/config/config.js';
import { createLogger } from '../../core/adapters/telemetry/log.js';
import { systemClock } from '../../core/adapters/system/clock.js';
import { walletCount, type RelayerConfig } from '../../core/config/relayer.js';
import { forgetSecrets } from '../../core/config/source.js';
import { openRelayers } from '../../app/compose/relayer.js';
import { openWallets } from '../../relayer/open-wallets.js';
import { createRecordedLog } from '../harness/checks/recorded-log.js';
import { sandboxAccounts } from '../../sandbox/accounts.js';

const KEYS = [`0x${'a1'.repeat(32)}`, `0x${'b2'.repeat(32)}`] as const;
const PASSWORD = 'correct horse battery';
const production = { DATABASE_URL: 'postgres://user@host/database', RPC_URL_BASE: 'https://rpc.example' };
/** Anything of the secrets above, in any notation a printer could choose. */
const SECRETS = /(?:a1){6}|(?:b2){6}|horse|s3cret/i;

const files = new Map<string, string>();

beforeAll(async () => {
  // As weak as the format allows: how long a password takes to try is not what is tested.
  const options = { scrypt: { N: 2, r: 1, p: 1 } };
  for (const [at, privateKey] of KEYS.entries())
    files.set(`/keys/${at}.json`, await encryptKeystoreJson({ address: new Wallet(privateKey).address, privateKey }, PASSWORD, options));
  const demo = sandboxAccounts('any seed').relayer;
  files.set('/keys/demo.json', await encryptKeystoreJson({ address: demo.address, privateKey: demo.privateKey }, PASSWORD, options));
  files.set('/keys/password', `${PASSWORD}\n`);
});

const readText = (path: string): string => {
  const text = files.get(path);
  if (text === undefined) throw new Error(`no file ${path}`);
  return text;
};

const read = (variables: Record<string, string>, isShared?: (path: string) => boolean) =>
  readConfig({ ...production, ...variables }, readText, isShared).chains;

function relayerOf(variables: Record<string, string>, isShared?: (path: string) => boolean): RelayerConfig {
  const relayer = read(variables, isShared)[0]?.relayer;
  if (!relayer) throw new Error('no relayer is configured');
  return relayer;
}

const surroundings = () => ({ clock: systemClock, log: createRecordedLog() });

function problemsOf(work: () => unknown): readonly string[] {
  try {
    work();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

const KEYSTORES = { RELAYER_KEYSTORE_BASE: '/keys/0.json, /keys/1.json', RELAYER_KEYSTORE_PASSWORD_FILE_BASE: '/keys/password' };

describe('a relayer with encrypted keystores', () => {
  it('opens them with the password and signs with what they hold', async () => {
    const relayer = relayerOf(KEYSTORES);
    expect(walletCount(relayer)).toBe(2);
    const { wallets, problems } = await openWallets(relayer, surroundings());
    expect(problems).toEqual([]);
    expect(wallets.map(({ address }) => address)).toEqual(KEYS.map((key) => new Wallet(key).address.toLowerCase()));
    const transaction = { chainId: 1, nonce: 0, to: KEYS[0].slice(0, 42) as `0x${string}`, data: '0x' as const, gas: 21_000n };
    const { raw } = await (wallets[0]?.sign({ ...transaction, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }) ?? Promise.reject(new Error()));
    expect(raw).toMatch(/^0x02/);
  });

  it('says for every chain at once which of them a password does not open, and quotes none', async () => {
    const wrong = { RELAYER_KEYSTORE_PASSWORD_BASE: 's3cret', RELAYER_KEYSTORE_BASE: '/keys/0.json' };
    const other = { RPC_URL_POLYGON: 'https://rpc.example', RELAYER_KEYSTORE_POLYGON: '/keys/0.json,/keys/demo.json' };
    const chains = read({ ...wrong, ...other, RELAYER_KEYSTORE_PASSWORD_POLYGON: PASSWORD });
    const error = await openRelayers(chains, surroundings()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    const { problems } = error as ConfigError;
    expect([...problems].sort()).toEqual([
      'RELAYER_KEYSTORE_BASE is not opened by its password',
      'RELAYER_KEYSTORE_POLYGON, file 2, has a key of the sandbox, which is published',
    ]);
    expect(inspect(error, { depth: null, showHidden: true })).not.toMatch(SECRETS);
  });

  it('stands beside plain keys, and refuses the same wallet twice', async () => {
    const relayer = relayerOf({ ...KEYSTORES, RELAYER_KEY_BASE: KEYS[1] });
    const { wallets, problems } = await openWallets(relayer, surroundings());
    expect(wallets).toHaveLength(3);
    expect(problems).toEqual([`the relayer's wallet ${new Wallet(KEYS[1]).address.toLowerCase()} is configured twice`]);
  });
});

describe('a configuration of keys', () => {
  it.each<[string, Record<string, string>, string[]]>([
    [
      'a keystore without a password',
      { RELAYER_KEYSTORE_BASE: '/keys/0.json' },
      ['RELAYER_KEYSTORE_BASE needs RELAYER_KEYSTORE_PASSWORD_BASE or its file'],
    ],
    [
      'a password without a keystore',
      { RELAYER_KEYSTORE_PASSWORD_BASE: 's3cret' },
      ['RELAYER_KEYSTORE_PASSWORD_BASE is set, but RELAYER_KEYSTORE_BASE names no file'],
    ],
    [
      'a keystore that is none, and a password file that is not there',
      { RELAYER_KEYSTORE_BASE: '/keys/password', RELAYER_KEYSTORE_PASSWORD_FILE_BASE: 's3cret' },
      [
        'RELAYER_KEYSTORE_PASSWORD_FILE_BASE must name a file that can be read',
        'RELAYER_KEYSTORE_BASE must name files of the JSON keystore format, separated by commas',
      ],
    ],
    [
      'a signer without an address of its own or of wallets',
      { RELAYER_SIGNER_URL_BASE: 's3cret', RELAYER_SIGNER_WALLETS_BASE: '0x12,s3cret' },
      [
        'RELAYER_SIGNER_URL_BASE must be an http or https URL',
        'RELAYER_SIGNER_WALLETS_BASE must be addresses separated by commas, none of them twice',
      ],
    ],
    ...['https://me:s3cret@signer', 'https://signer/?key=s3cret', 'https://signer/#s3cret'].map(
      (url): [string, Record<string, string>, string[]] => [
        'a signer at an address that cannot be asked',
        { RELAYER_SIGNER_URL_BASE: url, RELAYER_SIGNER_WALLETS_BASE: `0x${'ab'.repeat(20)}` },
        ['RELAYER_SIGNER_URL_BASE must be an http or https URL without user info'],
      ],
    ),
    [
      'a wallet named twice',
      { RELAYER_SIGNER_URL_BASE: 'https://signer', RELAYER_SIGNER_WALLETS_BASE: `0x${'AB'.repeat(20)},0x${'ab'.repeat(20)}` },
      ['RELAYER_SIGNER_WALLETS_BASE must be addresses separated by commas, none of them twice'],
    ],
    [
      'a token for no signer',
      { RELAYER_SIGNER_TOKEN_BASE: 's3cret' },
      ['RELAYER_SIGNER_TOKEN_BASE is set, but RELAYER_SIGNER_URL_BASE is not'],
    ],
    ['a chain that does not exist', { RELAYER_SIGNER_URL_BASEE: 's3cret' }, ['RELAYER_SIGNER_URL_BASEE names no chain; chains are ']],
    ['drills that are neither', { RELAYER_DRILLS_BASE: 'yes' }, ['RELAYER_DRILLS_BASE must be allow or refuse']],
  ])('with %s is refused without its values', (_, variables, expected) => {
    const problems = problemsOf(() => read(variables));
    expect(problems).toEqual(expected.map((text) => expect.stringContaining(text) as string));
    expect(problems.join('\n')).not.toMatch(SECRETS);
  });

  it('is never printed: not inspected, not as JSON, not in the log', () => {
    const relayer = relayerOf({
      ...KEYSTORES,
      RELAYER_SIGNER_URL_BASE: 'https://signer/s3cret',
      RELAYER_SIGNER_TOKEN_BASE: 's3cret',
      RELAYER_SIGNER_WALLETS_BASE: `0x${'cd'.repeat(20)}`,
      RELAYER_KEY_BASE: KEYS[0],
    });
    const lines: string[] = [];
    const log = createLogger('debug', { write: (line) => void lines.push(line) });
    log.error('relay.config', { relayer, error: new Error('broken', { cause: relayer }) });
    expect(lines).toHaveLength(1);
    const asJson = JSON.stringify(relayer, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
    const printed = [inspect(relayer, { depth: null, showHidden: true }), asJson, ...lines];
    for (const text of printed) expect(text).not.toMatch(SECRETS);
  });

  it('becomes wallets that print no key either', async () => {
    const { wallets } = await openWallets(relayerOf(KEYSTORES), surroundings());
    const printed = [inspect(wallets, { depth: null, showHidden: true }), JSON.stringify(wallets)];
    for (const text of printed) expect(text).not.toMatch(SECRETS);
    const error = await wallets[0]
      ?.sign({ chainId: 1, nonce: -1, to: '0x', data: '0x', gas: 0n, maxFeePerGas: 0n, maxPriorityFeePerGas: 1n })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(inspect(error, { depth: null, showHidden: true })).not.toMatch(SECRETS);
  });

  it('warns of files that others can read and of a token in the clear', () => {
    const clear = { RELAYER_SIGNER_URL_BASE: 'http://10.0.0.7:8547', RELAYER_SIGNER_WALLETS_BASE: `0x${'cd'.repeat(20)}` };
    const { warnings } = relayerOf({ ...KEYSTORES, ...clear }, (path) => path === '/keys/password');
    expect(warnings).toEqual([
      'the file of RELAYER_KEYSTORE_PASSWORD_FILE_BASE can be read by others than its owner: chmod 600 it',
      'RELAYER_SIGNER_URL_BASE is not https: its token can be read on the network',
    ]);
    expect(relayerOf(KEYSTORES, () => false).warnings).toEqual([]);
  });

  it('leaves no secret in the environment of the processes it starts', () => {
    const environment: Record<string, string | undefined> = {
      ...KEYSTORES,
      RELAYER_KEY_BASE: KEYS[0],
      RELAYER_KEY_FILE_BASE: '/keys/plain',
      RELAYER_KEYSTORE_PASSWORD_BASE: PASSWORD,
      RELAYER_SIGNER_TOKEN_BASE: 's3cret',
      OPERATOR_TOKEN: 's3cret',
      ALERT_WEBHOOK_URL: 'https://host/s3cret',
      ALERT_WEBHOOK_SECRET: 's3cret',
      PORT: '1',
    };
    forgetSecrets(environment);
    expect(environment).toEqual({ ...KEYSTORES, RELAYER_KEY_FILE_BASE: '/keys/plain', PORT: '1' });
  });
});
