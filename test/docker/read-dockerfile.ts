import { readFileSync } from 'node:fs';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '../..');
export const readText = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

export interface Instruction {
  readonly word: string;
  readonly text: string;
}

export interface Stage {
  readonly base: string;
  readonly name: string;
  readonly instructions: readonly Instruction[];
}

/** One line for each instruction: comments and continuations are gone. */
const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => !/^\s*(?:#|$)/.test(line))
    .join('\n')
    .replace(/\\\n\s*/g, '')
    .split('\n');

export function readDockerfile(file = 'docker/Dockerfile'): Stage[] {
  const stages: { base: string; name: string; instructions: Instruction[] }[] = [];
  for (const line of linesOf(readText(file))) {
    const [, word = '', text = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    const [, base = '', name = ''] = word === 'FROM' ? (/^(\S+) AS (\S+)$/.exec(text) ?? []) : [];
    if (word === 'FROM') stages.push({ base, name, instructions: [] });
    else stages.at(-1)?.instructions.push({ word, text });
  }
  return stages;
}

export function stageOf(stages: readonly Stage[], name: string): Stage {
  const stage = stages.find((one) => one.name === name);
  if (stage === undefined) throw new Error(`The Dockerfile has no stage ${name}.`);
  return stage;
}

/** Its own instructions and, before them, those of the stages that it stands on. */
export function allInstructions(stages: readonly Stage[], name: string): Instruction[] {
  const { base, instructions } = stageOf(stages, name);
  return stages.some((stage) => stage.name === base) ? [...allInstructions(stages, base), ...instructions] : [...instructions];
}

export interface IgnoreRule {
  readonly pattern: RegExp;
  readonly keeps: boolean;
}

/** A pattern of .dockerignore as the builder reads it: from the root, `**` over folders, and a folder stands for what is in it. */
function ruleOf(line: string): IgnoreRule {
  const keeps = line.startsWith('!');
  const source = line
    .replace(/^!/, '')
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*\*\/|\*/g, (star) => (star === '*' ? '[^/]*' : '(?:.*/)?'));
  return { keeps, pattern: new RegExp(`^${source}(?:/.*)?$`) };
}

/** Whether the builder gets to see a file: the last rule that speaks of it decides. */
export function createContextFilter(text = readText('.dockerignore')): (file: string) => boolean {
  const rules = text.split('\n').flatMap((line) => (/^\s*(?:#|$)/.test(line) ? [] : [ruleOf(line.trim())]));
  return (file) => rules.reduce((seen, { pattern, keeps }) => (pattern.test(file) ? keeps : seen), true);
}
