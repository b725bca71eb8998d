import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { readText, ROOT } from './read-dockerfile.js';

const Compose = z.object({
  services: z.record(
    z.string(),
    z.object({
      image: z.string(),
      build: z.object({ context: z.string() }),
      read_only: z.boolean(),
      cap_drop: z.array(z.string()),
      security_opt: z.array(z.string()),
      mem_limit: z.string(),
      healthcheck: z.object({ test: z.array(z.string()) }),
      environment: z.record(z.string(), z.string()).default({}),
      volumes: z.array(z.string()).default([]),
      ports: z.array(z.string()).default([]),
    }),
  ),
  volumes: z.record(z.string(), z.unknown()),
});

const text = readText('docker/compose.ha.yaml');
const compose = Compose.parse(parse(text, { merge: true }));
const services = Object.entries(compose.services);

describe('compose.ha.yaml', () => {
  it('has nothing that a linter complains about, but for what its settings explain', () => {
    const linter = path.join(ROOT, 'node_modules/dclint/bin/dclint.cjs');
    const options = ['--config', 'docker/.dclintrc', '--max-warnings', '0', 'docker/compose.ha.yaml'];
    const { status, stdout, stderr } = spawnSync(process.execPath, [linter, ...options], { cwd: ROOT, encoding: 'utf8' });
    expect({ status, output: `${stdout}${stderr}`.trim() }).toEqual({ status: 0, output: '' });
  });

  it('says that it was only linted', () => expect(text).toMatch(/only linted: nobody has started it/));

  it.each(services)('gives %s no rights, no writable root, no endless memory, no port outside and no secret', (_name, service) => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'], ports: [] });
    expect(service.mem_limit).toMatch(/^\d+[mg]$/);
    expect(service.healthcheck.test[0]).toBe('CMD');
    for (const name of Object.keys(service.environment)) expect(name).not.toMatch(/PASSWORD/);
  });

  it('mounts only files and volumes that are there', () => {
    for (const [, { volumes, build }] of services) {
      expect(existsSync(path.join(ROOT, 'docker', build.context, 'Dockerfile'))).toBe(true);
      for (const [source = '', , mode] of volumes.map((mount) => mount.split(':')))
        if (source.startsWith('.')) expect([source, existsSync(path.join(ROOT, 'docker', source)), mode]).toEqual([source, true, 'ro']);
        else expect(Object.keys(compose.volumes)).toContain(source);
    }
  });

  it('leads HAProxy to each server, and ends the sessions of one that is no longer the primary', () => {
    const haproxy = readText('docker/ha/haproxy.cfg');
    for (const name of ['database-1', 'database-2', 'database-3']) {
      expect(Object.keys(compose.services)).toContain(name);
      expect(haproxy).toContain(`server ${name} ${name}:5432 check port 8008`);
    }
    expect(haproxy).toContain('on-marked-down shutdown-sessions');
  });
});
