import { spawn } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { systemRandom } from '../../core/adapters/system/clock.js';
import { listen } from '../../http/listen.js';
import { findPortOwner, readLsof } from '../../http/port-owner.js';

const isLinux = process.platform === 'linux';

describe('a port in use', () => {
  it('is refused in a sentence that names program and pid', async () => {
    const holder = spawn(process.execPath, [
      '-e',
      "const s = require('net').createServer(); s.listen(0, '127.0.0.1', () => console.log(s.address().port))",
    ]);
    try {
      const port = Number(await new Promise<string>((resolve) => holder.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString()))));
      const owner = isLinux ? ` by node \\(pid ${holder.pid}\\)` : '.*';
      await expect(listen('127.0.0.1', port, { randomBytes: systemRandom })).rejects.toThrow(
        new RegExp(
          `^Port ${port} on 127.0.0.1 is in use${owner}; end that program, or set PORT to another port, or to 0 for any free one\\.$`,
        ),
      );
    } finally {
      holder.kill('SIGKILL');
    }
  });

  it('is looked up for listeners alone, and unknown ones stay unknown', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '::', () => resolve()));
    const { port } = server.address() as AddressInfo;
    if (isLinux) expect(await findPortOwner(port)).toEqual({ pid: process.pid, program: 'node' });
    await new Promise((resolve) => server.close(resolve));
    expect(await findPortOwner(port)).toBeNull();
  });

  it('is read from what lsof prints where there is no /proc', () => {
    expect(readLsof('p812\ncControlCe\nf9\n')).toEqual({ pid: 812, program: 'ControlCe' });
    expect(readLsof('')).toBeNull();
  });
});
