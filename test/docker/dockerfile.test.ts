import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { validate } from 'dockerfile-utils';
import { z } from 'zod';
import { allInstructions, createContextFilter, readDockerfile, readText, ROOT, stageOf } from './read-dockerfile.js';

const stages = readDockerfile();
const names = new Set(stages.map(({ name }) => name));
const bases = stages.map(({ base }) => base).filter((base) => !names.has(base));
const Package = z.object({ version: z.string(), engines: z.object({ node: z.string() }) });
const { version, engines } = Package.parse(JSON.parse(readText('package.json')));

/** The release line of Node that images are built on. */
const LTS = 26;

const wordsOf = (target: string, word: string): string[] =>
  allInstructions(stages, target).flatMap((instruction) => (instruction.word === word ? [instruction.text] : []));

describe('the Dockerfile', () => {
  it('has nothing that a linter complains about', () => {
    expect(validate(readText('docker/Dockerfile'))).toEqual([]);
  });

  it('names the exact release of every base, one release of Node for all, of the current LTS and none older than the gateway runs on', () => {
    const releases = bases.map((base) => /^node:(\d+)\.(\d+)\.\d+-bookworm(?:-slim)?(?:@sha256:[0-9a-f]{64})?$/.exec(base));
    expect(releases).not.toContain(null);
    expect(new Set(bases.map((base) => base.replace(/-.*/, ''))).size).toBe(1);
    const [, wantedMajor, wantedMinor] = /(\d+)\.(\d+)/.exec(engines.node) ?? [];
    const [, major, minor] = releases[0] ?? [];
    const isNewEnough =
      Number(major) > Number(wantedMajor) || (Number(major) === Number(wantedMajor) && Number(minor) >= Number(wantedMinor));
    expect([Number(major), isNewEnough]).toEqual([LTS, true]);
  });

  it('takes the whole sandbox out of the gateway with one folder: what the commands share holds nothing of it', () => {
    const maps = readdirSync(path.join(ROOT, 'dist/chunks')).filter((name) => name.endsWith('.map'));
    const Sources = z.object({ sources: z.array(z.string()) });
    const sources = maps.flatMap((name) => Sources.parse(JSON.parse(readText(`dist/chunks/${name}`))).sources);
    expect(sources).toContain('../../core/gateway.ts');
    expect(sources.filter((source) => source.startsWith('../../sandbox/'))).toEqual([]);
  });

  it('ends with the gateway, which is what is built when nothing is said', () => {
    expect(stages.at(-1)?.name).toBe('gateway');
  });

  it.each(['gateway', 'sandbox'])(
    'starts the %s without a shell, as an unprivileged user, with a health check and the signal it drains on',
    (target) => {
      const [user] = wordsOf(target, 'USER').slice(-1);
      expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
      for (const word of ['ENTRYPOINT', 'CMD'])
        expect(z.array(z.string()).parse(JSON.parse(wordsOf(target, word).at(-1) ?? ''))).not.toEqual([]);
      expect(wordsOf(target, 'HEALTHCHECK').at(-1)).toMatch(/CMD \["node", /);
      expect(wordsOf(target, 'STOPSIGNAL').at(-1)).toBe('SIGTERM');
      expect(wordsOf(target, 'EXPOSE')).toEqual(['8080']);
    },
  );

  it.each(['gateway', 'sandbox'])(
    'sets the commit of the %s in its environment, and commit and package version in its labels',
    (target) => {
      expect(wordsOf(target, 'ENV')).toContain('COMMIT=$COMMIT');
      expect(wordsOf(target, 'LABEL').join()).toMatch(/image\.version="\$VERSION".*image\.revision="\$COMMIT"/);
      for (const { instructions } of stages)
        for (const { word, text } of instructions)
          if (word === 'ARG' && text.startsWith('VERSION')) expect(text).toBe(`VERSION=${version}`);
    },
  );

  it('copies only what the builder is shown', () => {
    const isShown = createContextFilter();
    const copied = stages.flatMap(({ instructions }) =>
      instructions.filter(({ word, text }) => word === 'COPY' && !text.startsWith('--from')),
    );
    const sources = copied.flatMap(({ text }) => text.split(' ').slice(0, -1)).filter((source) => source !== '.');
    expect(sources).toContain('package.json');
    for (const source of sources) expect([source, existsSync(path.join(ROOT, source)), isShown(source)]).toEqual([source, true, true]);
  });

  it('takes into an image nothing but what a stage has built', () => {
    for (const target of ['gateway', 'sandbox'])
      for (const { word, text } of stageOf(stages, target).instructions) if (word === 'COPY') expect(text).toMatch(/^--from=[\w-]+ /);
  });
});

describe('the builder', () => {
  const isShown = createContextFilter();
  const tracked = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).trim().split('\n');

  it('is shown every source that is compiled', () => {
    const { include } = z.object({ include: z.array(z.string()) }).parse(JSON.parse(readText('tsconfig.build.json')));
    const isSource = (file: string): boolean =>
      file.endsWith('.ts') && include.some((entry) => (entry === '*.ts' ? !file.includes('/') : file.startsWith(`${entry}/`)));
    const sources = tracked.filter((file) => isSource(file) && existsSync(path.join(ROOT, file)));
    expect(sources.length).toBeGreaterThan(400);
    expect(sources.filter((file) => !isShown(file))).toEqual([]);
  });

  it.each([
    '.git/config',
    '.env',
    '.env.production',
    'core/.env',
    'relayer/hot.key',
    'sandbox/tls.pem',
    'docker/secrets/operator_token',
    'docker/gateway.env',
    'docker/compose.yaml',
    'node_modules/express/index.js',
    'dist/app/cli.js',
    'coverage/index.html',
    'test/docker/dockerfile.test.ts',
    'scripts/compat.ts',
    'id_ed25519',
  ])('is not shown %s', (file) => {
    expect(isShown(file)).toBe(false);
  });

  it('is shown no test', () => {
    expect(tracked.filter((file) => /(?:^|\/)test\/|\.test\./.test(file) && isShown(file))).toEqual([]);
  });
});
