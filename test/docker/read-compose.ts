import { parse } from 'yaml';
import { z } from 'zod';
import { readText } from './read-dockerfile.js';

const Names = z.array(z.string());

const Service = z.object({
  image: z.string(),
  build: z.object({ context: z.string(), dockerfile: z.string(), target: z.string(), args: z.record(z.string(), z.string()) }).optional(),
  command: Names.optional(),
  environment: z.record(z.string(), z.string()).default({}),
  env_file: z.array(z.object({ path: z.string(), required: z.boolean() })).default([]),
  volumes: Names.default([]),
  ports: Names.default([]),
  networks: Names.default([]),
  secrets: Names.default([]),
  tmpfs: Names.default([]),
  profiles: Names.default([]),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  healthcheck: z.object({ test: Names.optional(), disable: z.boolean().optional() }).optional(),
  network_mode: z.string().optional(),
  user: z.string().optional(),
  read_only: z.boolean().default(false),
  cap_drop: Names.default([]),
  cap_add: Names.default([]),
  security_opt: Names.default([]),
  mem_limit: z.string().optional(),
  ulimits: z.object({ nofile: z.number() }).optional(),
  stop_grace_period: z.string().optional(),
});
export type Service = z.output<typeof Service>;

const Compose = z.object({
  services: z.record(z.string(), Service),
  networks: z.record(z.string(), z.object({ internal: z.boolean().default(false) })),
  volumes: z.record(z.string(), z.unknown()),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
});

/** As an operator gets it who sets none of its variables. */
const withDefaults = (text: string): string => text.replace(/\$\{\w+:-([^}]*)\}/g, '$1');

export const readCompose = (): z.output<typeof Compose> =>
  Compose.parse(JSON.parse(withDefaults(JSON.stringify(parse(readText('docker/compose.yaml'), { merge: true })))));

/** Services that run the gateway itself, by the command they run. */
export const gatewaysOf = ({ services }: z.output<typeof Compose>): string[] =>
  Object.entries(services)
    .filter(([, { build, command }]) => build?.target === 'gateway' && command === undefined)
    .map(([name]) => name);
