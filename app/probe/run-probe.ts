import { parseArgs } from 'node:util';
import { createHttp, endpointsOf, type Http } from '../../core/adapters/backend/http.js';
import { createMask } from '../../core/observability/redact.js';
import type { Clock } from '../../core/ports/clock.js';
import { StartError } from '../../core/errors.js';
import { createProbe, exitCodeOf, VERDICTS, type Finding, type Probe } from './look.js';
import { probeCharts, probeHistory, probeVariables } from './probe-backend.js';
import { probeDiamond } from './probe-diamond.js';
import { probeEvents, probeHeadSubscription, probePrices } from './probe-streams.js';
import { probeNode, type ChainConfig } from './probe-node.js';
import { CHAIN_SLUGS, chainVariable, isChainSlug, type ChainSlug } from '../../core/chains/chains.js';
import { readConfig } from '../../core/config/config.js';

export interface ProbeSurroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readText: (path: string) => string;
  readonly clock: Clock;
  readonly write: (text: string) => void;
  readonly complain: (text: string) => void;
}

/** The time limit of the whole probe; checks still running then are abandoned. */
const LONGEST_MS = 50_000;
const NOT_UNDERSTOOD = 2;

/** `npm run probe`: runs the checks, prints the findings and returns the exit code. */
export async function runProbe(words: readonly string[], surroundings: ProbeSurroundings): Promise<number> {
  const { write, complain } = surroundings;
  try {
    const given = readArguments(words);
    if (given === null) return (write(`${USAGE}\n`), 0);
    const chains = probedChains(given, surroundings.environment, surroundings.readText);
    const findings = await probeChains(chains, surroundings.clock);
    write(`${given.json ? reportJson(findings) : reportText(findings)}\n`);
    return exitCodeOf(findings);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    complain(`${error.message}\n`);
    return NOT_UNDERSTOOD;
  }
}

export async function probeChains(chains: readonly ChainConfig[], clock: Clock): Promise<readonly Finding[]> {
  const end = new AbortController();
  const cancel = clock.after(LONGEST_MS, () => end.abort());
  const probe = createProbe({ clock, signal: end.signal, mask: createMask(chains.flatMap(addressesOf)) });
  const http = createHttp(clock);
  try {
    await Promise.all([...chains.map((config) => probeChain(probe, config, http)), ...sharedHosts(probe, chains, http)]);
  } finally {
    cancel();
    end.abort();
  }
  return probe.findings();
}

const addressesOf = ({ rpcUrls, wsUrls, backendUrl, pricingUrl, globalUrl }: ChainConfig): string[] => [
  ...[...rpcUrls, ...wsUrls],
  ...[backendUrl, pricingUrl, globalUrl],
];

const hostOf = (url: string): string => new URL(url).host;

/** The host of a URL, without secrets; a second URL of the same host gets a number. */
function partOf(kind: string, urls: readonly string[], at: number): string {
  const host = hostOf(urls[at] ?? '');
  const nth = urls.slice(0, at).filter((other) => hostOf(other) === host).length + 1;
  return `${kind} ${host}${nth === 1 ? '' : ` (${nth})`}`;
}

async function probeChain(probe: Probe, config: ChainConfig, http: Http): Promise<void> {
  const { chain, rpcUrls, wsUrls } = config;
  const nodes = rpcUrls.map((url, at) => probeNode(probe, url, partOf(`${chain.slug} node`, rpcUrls, at), config));
  const lines = wsUrls.map((url, at) => probeHeadSubscription(probe, url, partOf(`${chain.slug} node line`, wsUrls, at), config));
  const endpoints = endpointsOf(config);
  const contract = probe.part(`${chain.slug} Diamond`);
  const look = probe.part(`${chain.slug} backend ${hostOf(config.backendUrl)}`);
  const variables = probeVariables(probe, look, http, endpoints);
  const events = probeEvents(probe, look, endpoints);
  const good = (await Promise.all(nodes)).find((node) => node !== null) ?? null;
  await Promise.all([...lines, variables, events, probeDiamond(contract, config, good, variables)]);
}

/** Hosts shared by all chains are checked once. */
function sharedHosts(probe: Probe, chains: readonly ChainConfig[], http: Http): Promise<void>[] {
  const pricing = new Map(chains.map((config) => [config.pricingUrl, config]));
  const history = chains.map(async (config) => {
    const look = probe.part(`history ${hostOf(config.globalUrl)}`);
    await probeHistory(look, http, endpointsOf(config), config.chain.chainId);
  });
  return [...[...pricing.values()].map((config) => probePricing(probe, config, http)), ...history];
}

async function probePricing(probe: Probe, config: ChainConfig, http: Http): Promise<void> {
  const endpoints = endpointsOf(config);
  const look = probe.part(`pricing ${hostOf(config.pricingUrl)}`);
  await Promise.all([probeCharts(probe, look, http, endpoints), probePrices(probe, look, endpoints)]);
}

const COLUMNS = ['check', 'expected', 'found', 'verdict'] as const;
/** Longer cells are wrapped. */
const WIDEST = { check: 32, expected: 44, found: 52, verdict: 11 } as const;

/** One block for each part. */
function reportText(findings: readonly Finding[]): string {
  const parts = [...new Set(findings.map(({ part }) => part))];
  const widths = COLUMNS.map((column) => widthOf(findings, column));
  const head = { check: 'CHECK', expected: 'EXPECTED', found: 'FOUND', verdict: 'VERDICT' };
  const blocks = parts.map((part) => {
    const lines = findings.filter((one) => one.part === part).flatMap((finding) => linesOf(finding, widths));
    return [part, ...lines].join('\n');
  });
  return [linesOf(head, widths).join('\n'), ...blocks, summary(findings)].join('\n\n');
}

type Row = Readonly<Record<(typeof COLUMNS)[number], string>>;

const widthOf = (rows: readonly Row[], column: (typeof COLUMNS)[number]): number =>
  Math.max(column.length, ...rows.flatMap((row) => wrapped(row[column], WIDEST[column]).map(({ length }) => length)));

function linesOf(row: Row, widths: readonly number[]): string[] {
  const cells = COLUMNS.map((column) => wrapped(row[column], WIDEST[column]));
  const height = Math.max(...cells.map(({ length }) => length));
  return Array.from({ length: height }, (_, at) => {
    const line = cells.map((cell, column) => (cell[at] ?? '').padEnd(widths[column] ?? 0)).join('  ');
    return `  ${line}`.trimEnd();
  });
}

function wrapped(text: string, widest: number): string[] {
  const rows: string[] = [];
  for (const word of text.split(' ')) {
    const last = rows.at(-1);
    if (last !== undefined && last.length + word.length < widest) rows[rows.length - 1] = `${last} ${word}`;
    else rows.push(word);
  }
  return rows;
}

const summary = (findings: readonly Finding[]): string =>
  VERDICTS.map((verdict) => `${findings.filter((one) => one.verdict === verdict).length} ${verdict}`).join(', ');

const reportJson = (findings: readonly Finding[]): string => JSON.stringify({ exitCode: exitCodeOf(findings), findings }, null, 2);

interface ProbeArguments {
  /** Null: every configured chain. */
  readonly chain: ChainSlug | null;
  /** Overrides the environment; absent = no override. */
  readonly hosts: Readonly<Partial<Record<HostSetting, string>>>;
  readonly json: boolean;
}

const HOST_SETTINGS = {
  rpc: 'RPC_URL',
  ws: 'RPC_WS_URL',
  backend: 'BACKEND_URL',
  pricing: 'PRICING_URL',
  global: 'GLOBAL_URL',
} as const;
type HostSetting = (typeof HOST_SETTINGS)[keyof typeof HOST_SETTINGS];

const USAGE = `Usage: npm run probe -- --chain <chain> [options]

Asks the nodes, the Diamond and the protocol's backends of a chain whether they are what this release expects. It only reads,
needs no database and no key, and takes less than a minute.

  --chain <chain>   ${CHAIN_SLUGS.join(', ')}
  --all             every chain that has an RPC_URL_<CHAIN>
  --rpc <urls>      instead of RPC_URL_<CHAIN>
  --ws <urls>       instead of RPC_WS_URL_<CHAIN>
  --backend <url>   instead of BACKEND_URL_<CHAIN>
  --pricing <url>   instead of PRICING_URL
  --global <url>    instead of GLOBAL_URL
  --json            for machines

Everything else is read from the same environment as the gateway's.
Exit code: 0 all as expected, 1 something differs, 2 something could not be reached, or the command was not understood.`;

const text = { type: 'string' } as const;
const OPTIONS = {
  chain: text,
  rpc: text,
  ws: text,
  backend: text,
  pricing: text,
  global: text,
  all: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const misuse = (sentence: string): StartError => new StartError(`${sentence}\n\n${USAGE}`);

/** Null if the usage was asked for. */
function readArguments(words: readonly string[]): ProbeArguments | null {
  const values = parse(words);
  if (values.help === true) return null;
  const { chain, all = false, json = false } = values;
  if (all === (chain !== undefined)) throw misuse('Give either --chain or --all.');
  if (chain !== undefined && !isChainSlug(chain)) throw misuse(`There is no chain "${chain}".`);
  const given = Object.entries(HOST_SETTINGS).flatMap(([option, setting]) => {
    const value = values[option as keyof typeof HOST_SETTINGS];
    return value === undefined ? [] : [[setting, value] as const];
  });
  if (all && given.length > 0) throw misuse('--all takes its hosts from the environment.');
  return { chain: chain ?? null, hosts: Object.fromEntries(given), json };
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options: OPTIONS, allowPositionals: false }).values;
  } catch (error) {
    const text = typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : 'Not understood';
    // A misplaced word may be a URL with a key, so it is not repeated.
    throw misuse(
      text.startsWith('Unexpected argument') ? 'Give every address behind its option; several, with commas.' : text.split('. ', 1).join(''),
    );
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Hosts and referrers. Keys, tokens and the database settings are not read by the probe. */
const HOSTS = /^(?:(?:RPC|RPC_WS|BACKEND|PRICING|GLOBAL)_URL|START_BLOCK|REFERRER)(?:_|$)/;

/** The chains to check, read by the gateway's own rules. Throws a StartError with all problems. */
function probedChains(
  { chain, hosts }: ProbeArguments,
  environment: Environment,
  readText: (path: string) => string,
): readonly ChainConfig[] {
  const known = Object.entries(environment).filter(([name]) => HOSTS.test(name));
  const wanted = chain === null ? known : known.filter(([name]) => isOf(name, chain));
  const variables: Record<string, string | undefined> = { ...Object.fromEntries(wanted), DATABASE_URL: 'embedded:none' };
  if (chain !== null)
    for (const [setting, url] of Object.entries(hosts)) {
      const name = chainVariable(setting, chain);
      for (const other of [`${name}_FILE`, chainVariable(`${setting}_FILE`, chain)]) variables[other] = undefined;
      variables[setting === HOST_SETTINGS.pricing || setting === HOST_SETTINGS.global ? setting : name] = url;
    }
  const { chains } = readConfig(variables, readText);
  if (chains.length === 0) throw new StartError('No chain is configured.');
  return chains;
}

/** Whether a setting applies to this chain; problems of other chains are ignored. */
function isOf(name: string, chain: ChainSlug): boolean {
  const others = CHAIN_SLUGS.filter((slug) => slug !== chain);
  const isIts = (slug: ChainSlug): boolean => name.includes(chainVariable('', slug));
  return isIts(chain) ? !others.some((slug) => slug.length > chain.length && isIts(slug)) : !others.some(isIts);
}
