import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { readConfig } from '../../core/config/config.js';
import { SETTING_NAMES } from '../../app/read-settings.js';
import { readSandboxSettings } from '../../sandbox/settings.js';
import { gatewaysOf, readCompose, type Service } from './read-compose.js';
import { readDockerfile, readText, ROOT } from './read-dockerfile.js';

const compose = readCompose();
const services = Object.entries(compose.services);
const gateways = gatewaysOf(compose);
const { version } = z.object({ version: z.string() }).parse(JSON.parse(readText('package.json')));

const serviceOf = (name: string): Service => {
  const service = compose.services[name];
  if (service === undefined) throw new Error(`There is no service ${name}.`);
  return service;
};

const namesIn = (text: string): string[] => [...text.matchAll(/^(?:# )?([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name ?? '');
const parsed = <Schema extends z.ZodType>(file: string, schema: Schema): z.output<Schema> => schema.parse(parse(readText(file)));

let folder: string;
const makeSecrets = (): string => execFileSync('sh', [path.join(folder, 'make-secrets.sh')], { encoding: 'utf8' });
const secret = (name: string): string => readFileSync(path.join(folder, 'secrets', name), 'utf8');
const modeOf = (name: string): number => statSync(path.join(folder, 'secrets', name)).mode & 0o777;

beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'secrets-'));
  cpSync(path.join(ROOT, 'docker/make-secrets.sh'), path.join(folder, 'make-secrets.sh'));
  makeSecrets();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('compose.yaml', () => {
  it('has nothing that a linter complains about, but for what its settings explain', () => {
    const linter = path.join(ROOT, 'node_modules/dclint/bin/dclint.cjs');
    const options = ['--config', 'docker/.dclintrc', '--max-warnings', '0', 'docker/compose.yaml'];
    const { status, stdout, stderr } = spawnSync(process.execPath, [linter, ...options], { cwd: ROOT, encoding: 'utf8' });
    expect({ status, output: `${stdout}${stderr}`.trim() }).toEqual({ status: 0, output: '' });
  });

  it.each(services)('pins the image of %s to a release', (_name, { image, build }) => {
    expect(image).toMatch(/^[\w./-]+:v?\d+\.\d+(?:\.\d+)?(?:-[a-z]+)?(?:@sha256:[0-9a-f]{64})?$/);
    if (build !== undefined) expect([image.split(':')[1], build.args['VERSION']]).toEqual([version, version]);
  });

  it('builds what the Dockerfile has', () => {
    const targets = readDockerfile().map(({ name }) => name);
    for (const [, { build }] of services)
      if (build !== undefined) {
        expect(targets).toContain(build.target);
        expect(existsSync(path.join(ROOT, 'docker', build.context, build.dockerfile))).toBe(true);
      }
  });

  it('mounts only files and folders that are there, and only to be read', () => {
    const mounts = services.flatMap(([, { volumes }]) => volumes.map((mount) => mount.split(':')));
    for (const [source = '', , mode] of mounts)
      if (source.startsWith('./secrets')) expect([existsSync(path.join(folder, source)), mode]).toEqual([true, 'ro']);
      else if (source.startsWith('.')) expect([source, existsSync(path.join(ROOT, 'docker', source)), mode]).toEqual([source, true, 'ro']);
      else expect(Object.keys(compose.volumes)).toContain(source);
  });

  it.each(services)('gives %s no rights, no writable root and no endless memory', (_name, service) => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], cap_add: [], security_opt: ['no-new-privileges:true'] });
    expect(service.mem_limit).toMatch(/^\d+[mg]$/);
  });

  it.each(services.filter(([, { build, healthcheck }]) => build === undefined && healthcheck?.disable !== true))(
    'has a health check for %s',
    (_name, { healthcheck }) => expect(healthcheck?.test?.[0]).toBe('CMD'),
  );

  it('starts a service after those it depends on', () => {
    for (const name of gateways)
      expect(serviceOf(name).depends_on).toEqual({
        migrate: { condition: 'service_completed_successfully' },
        postgres: { condition: 'service_healthy' },
      });
    expect(Object.keys(serviceOf('load-balancer').depends_on)).toEqual(gateways);
  });

  it('runs two gateways that differ in nothing but their names, and leaves them time to drain', () => {
    expect(gateways).toEqual(['gateway-1', 'gateway-2']);
    expect(serviceOf('gateway-1')).toEqual(serviceOf('gateway-2'));
    for (const name of [...gateways, 'sandbox']) expect(parseInt(serviceOf(name).stop_grace_period ?? '', 10)).toBeGreaterThan(10);
  });

  it('publishes the load balancer alone, and connects the database to the gateways only', () => {
    const open = services.filter(([, { ports }]) => ports.some((port) => !port.startsWith('127.0.0.1:'))).map(([name]) => name);
    expect(open).toEqual(['load-balancer']);
    expect(serviceOf('postgres')).toMatchObject({ ports: [], networks: ['data'] });
    expect(compose.networks['data']).toEqual({ internal: true });
    const neighbours = services.filter(([, { networks }]) => networks.includes('data')).map(([name]) => name);
    expect(neighbours).toEqual(['postgres', 'migrate', ...gateways]);
  });

  it('holds no secret: each comes from a file', () => {
    for (const [, { environment }] of services)
      for (const name of Object.keys(environment)) if (/PASSWORD|TOKEN|SECRET|KEY|DATABASE_URL/.test(name)) expect(name).toMatch(/_FILE$/);
    expect(services.flatMap(([, { secrets }]) => secrets).filter((name) => !(name in compose.secrets))).toEqual([]);
  });
});

describe('the settings of compose.yaml', () => {
  const example = readText('docker/gateway.env.example');

  it('are settings that the gateway has', () => {
    const known = new Set([...SETTING_NAMES, 'NODE_OPTIONS', 'SANDBOX_CHAINS']);
    const used = [...[...gateways, 'migrate', 'sandbox'].flatMap((name) => Object.keys(serviceOf(name).environment)), ...namesIn(example)];
    expect(used).toContain('TRUSTED_PROXIES');
    expect(used.filter((name) => !known.has(name))).toEqual([]);
  });

  it.each(gateways)('are a whole configuration of %s, with one node named', (name) => {
    const { environment, secrets } = serviceOf(name);
    const readSecret = (file: string): string => {
      const [, asked = ''] = /^\/run\/secrets\/(\w+)$/.exec(file) ?? [];
      if (!secrets.includes(asked)) throw new Error(`${file} is not mounted.`);
      return secret(asked);
    };
    const config = readConfig({ ...environment, RPC_URL_ARBITRUM: 'https://node.example' }, readSecret);
    expect(config).toMatchObject({ host: '0.0.0.0', port: 8080, access: { trustedProxies: 1 } });
    expect(config.database).toMatchObject({ kind: 'server', url: secret('database_url') });
    expect(config.operator.token?.()).toBe(secret('operator_token'));
  });

  it('are settings of the sandbox, which is one container on the loopback of its host', () => {
    const { environment, network_mode, depends_on, profiles } = serviceOf('sandbox');
    expect(readSandboxSettings(environment)).toMatchObject({
      HOST: '127.0.0.1',
      PORT: 8080,
      SANDBOX_CHAINS: [{ slug: 'arbitrum-sepolia' }],
    });
    expect({ network_mode, depends_on, profiles }).toEqual({ network_mode: 'host', depends_on: {}, profiles: ['sandbox'] });
  });
});

describe('make-secrets.sh', () => {
  it('makes every secret that compose.yaml names, and a place for the keys of relayers', () => {
    const files = Object.values(compose.secrets).map(({ file }) => path.basename(file));
    expect(readdirSync(path.join(folder, 'secrets')).sort()).toEqual([...files, 'relayer'].sort());
  });

  it('closes the folder to other users, and the files of the gateway to all but their owner', () => {
    expect([modeOf('.'), modeOf('relayer'), modeOf('database_url'), modeOf('operator_token')]).toEqual([0o700, 0o700, 0o400, 0o400]);
    expect(['postgres_password', 'grafana_password', 'prometheus_token'].map(modeOf)).toEqual([0o444, 0o444, 0o444]);
  });

  it('makes long random ones that fit each other', () => {
    expect(new Set(['postgres_password', 'operator_token', 'grafana_password'].map(secret)).size).toBe(3);
    for (const name of ['postgres_password', 'operator_token', 'grafana_password']) expect(secret(name)).toMatch(/^[0-9a-f]{48}$/);
    expect(secret('prometheus_token')).toBe(secret('operator_token'));
    expect(secret('database_url')).toBe(`postgres://gateway:${secret('postgres_password')}@postgres:5432/gateway`);
    expect(serviceOf('postgres').environment).toMatchObject({ POSTGRES_USER: 'gateway', POSTGRES_DB: 'gateway' });
  });

  it('leaves alone what is there', () => {
    const before = Object.keys(compose.secrets).map(secret);
    makeSecrets();
    expect(Object.keys(compose.secrets).map(secret)).toEqual(before);
  });
});

describe('the observability of compose.yaml', () => {
  const Jobs = z.object({
    rule_files: z.array(z.string()),
    scrape_configs: z.array(
      z.object({
        job_name: z.string(),
        authorization: z.object({ credentials_file: z.string() }).optional(),
        static_configs: z.array(z.object({ targets: z.array(z.string()) })),
      }),
    ),
  });
  const { rule_files, scrape_configs } = parsed('docker/prometheus/prometheus.yml', Jobs);
  const jobOf = (name: string) => scrape_configs.find(({ job_name }) => job_name === name);

  it('scrapes every gateway, with the token that opens its metrics', () => {
    const job = jobOf('gateway');
    expect(job?.static_configs.flatMap(({ targets }) => targets)).toEqual(gateways.map((name) => `${name}:8080`));
    expect(serviceOf('prometheus').secrets.map((name) => `/run/secrets/${name}`)).toEqual([job?.authorization?.credentials_file]);
  });

  it('scrapes only services that share a network with Prometheus', () => {
    const seen = scrape_configs.flatMap(({ static_configs }) => static_configs.flatMap(({ targets }) => targets));
    for (const host of seen.map((target) => target.split(':')[0] ?? ''))
      if (host !== 'localhost') expect(serviceOf(host).networks).toEqual(expect.arrayContaining(serviceOf('prometheus').networks));
  });

  it('loads rule files that exist', () => {
    expect(rule_files).toEqual(['/etc/prometheus/alerts.yml']);
    for (const file of rule_files) expect(existsSync(path.join(ROOT, 'docker/prometheus', path.basename(file)))).toBe(true);
  });

  it('shows the dashboards of the mounted folder, with data of its Prometheus', () => {
    const Sources = z.object({ datasources: z.array(z.object({ uid: z.string(), url: z.string() })) });
    const Providers = z.object({ providers: z.array(z.object({ options: z.object({ path: z.string() }) })) });
    const { datasources } = parsed('docker/grafana/provisioning/datasources/prometheus.yaml', Sources);
    const { providers } = parsed('docker/grafana/provisioning/dashboards/dashboards.yaml', Providers);
    expect(datasources).toEqual([{ uid: 'prometheus', url: 'http://prometheus:9090' }]);
    const mounted = serviceOf('grafana').volumes.map((mount) => mount.split(':')[1]);
    for (const { options } of providers) expect(mounted).toContain(options.path);
  });
});
