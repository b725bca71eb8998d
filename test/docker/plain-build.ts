import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { allInstructions, createContextFilter, ROOT, stageOf, type Stage } from './read-dockerfile.js';

/** What an image is when it is run: a tree, and how its Dockerfile starts it. */
export interface PlainImage {
  /** Stands for /app. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** What every command of this image begins with. */
  readonly entryPoint: readonly string[];
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
  readonly user: number;
}

export interface PlainBuilder {
  build(target: string): PlainImage;
}

const Words = z.array(z.string()).min(1);
const WORKDIR = '/app';

/** Only what the instructions name may matter, and what npm needs to find its cache. */
const basics = (): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: process.env['HOME'] ?? os.homedir(),
  npm_config_prefer_offline: 'true',
  npm_config_update_notifier: 'false',
});

/** Carries out the instructions of the Dockerfile with plain folders and commands: what an engine does, less its walls. */
export function createPlainBuilder(stages: readonly Stage[], place: string, given: Readonly<Record<string, string>>): PlainBuilder {
  const made = new Map<string, { folder: string; environment: Record<string, string> }>();

  const make = (name: string): { folder: string; environment: Record<string, string> } => {
    const known = made.get(name);
    if (known) return known;
    const { base, instructions } = stageOf(stages, name);
    const folder = path.join(place, name);
    const below = stages.some((stage) => stage.name === base) ? make(base) : null;
    if (below === null) mkdirSync(folder);
    else link(below.folder, folder);
    const stage = { folder, environment: { ...below?.environment } };
    made.set(name, stage);
    for (const { word, text } of instructions) carryOut(word, text, stage);
    return stage;
  };

  const carryOut = (word: string, text: string, { folder, environment }: { folder: string; environment: Record<string, string> }): void => {
    const filled = text.replace(/\$(\w+)/g, (whole, name: string) => environment[name] ?? whole);
    if (word === 'WORKDIR' && text !== WORKDIR) throw new Error(`Only ${WORKDIR} is known here, not ${text}.`);
    if (word === 'ARG' || word === 'ENV') {
      const [name = '', value = ''] = filled.split('=');
      environment[name] = word === 'ARG' ? (given[name] ?? value) : value;
    }
    if (word === 'RUN') run(text, folder, environment);
    if (word === 'COPY') copy(text.split(' '), folder);
  };

  const copy = (words: string[], folder: string): void => {
    const [first = '', ...rest] = words;
    const isFromStage = first.startsWith('--from=');
    const target = path.join(folder, words.at(-1) ?? '');
    for (const source of isFromStage ? rest.slice(0, -1) : words.slice(0, -1))
      if (!isFromStage) copyContext(source, target);
      else {
        const from = path.join(make(first.slice('--from='.length)).folder, path.posix.relative(WORKDIR, source));
        link(from, target === folder ? path.join(folder, path.basename(source)) : target);
      }
  };

  return {
    build(target) {
      const { folder, environment } = make(target);
      const last = (word: string): string => allInstructions(stages, target).findLast((one) => one.word === word)?.text ?? '';
      return {
        folder,
        environment,
        entryPoint: Words.parse(JSON.parse(last('ENTRYPOINT'))),
        command: [...Words.parse(JSON.parse(last('ENTRYPOINT'))), ...Words.parse(JSON.parse(last('CMD')))],
        healthCheck: Words.parse(JSON.parse(last('HEALTHCHECK').replace(/^.*? CMD /, ''))),
        user: parseInt(last('USER'), 10),
      };
    },
  };
}

/** Stages share their files, as layers do: hundreds of megabytes are not copied. Nothing here changes a file in place. */
const link = (from: string, to: string): void => void execFileSync('cp', ['-al', from, to]);

function run(command: string, folder: string, environment: Readonly<Record<string, string>>): void {
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', command], {
    cwd: folder,
    env: { ...basics(), ...environment },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`RUN ${command} ended with ${status}:\n${stdout}${stderr}`);
}

/** Files that belong to the project, tracked or about to be, as far as .dockerignore lets them through. */
function copyContext(source: string, target: string): void {
  const isShown = createContextFilter();
  const list = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate', '--', source], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  for (const file of list.trim().split('\n'))
    if (isShown(file)) cpSync(path.join(ROOT, file), path.join(target, file), { recursive: true, force: true });
}
