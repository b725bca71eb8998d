import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { chainBySlug, CHAIN_SLUGS, type ChainSlug } from '../../core/chains/chains.js';
import { banner } from '../../sandbox/banner.js';
import type { SandboxControls } from '../../sandbox/controls.js';

const root = path.resolve(import.meta.dirname, '../..');
const controls = (...slugs: ChainSlug[]): Pick<SandboxControls, 'chains'> => ({
  chains: slugs.map((slug) => ({ definition: chainBySlug(slug) })) as unknown as SandboxControls['chains'],
});
const TOKEN = 'jIRJ1-GTy_P9hwsEu1YM-Jrf';

describe('the banner of npm start', () => {
  it.each<[string, ChainSlug[], string, string | null]>([
    ['one chain', ['arbitrum-sepolia'], 'http://127.0.0.1:65535', TOKEN],
    ['every chain', [...CHAIN_SLUGS], 'http://127.0.0.1:65535', null],
  ])('fits one screen with %s', (_what, slugs, url, token) => {
    const lines = banner(url, controls(...slugs), token).split('\n');
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
  });

  it('names the page, both base URLs and three commands that exist', () => {
    const text = banner('http://127.0.0.1:8080', controls('arbitrum-sepolia'), TOKEN);
    for (const address of ['/', '/v1/arbitrum-sepolia', '/hl/arbitrum-sepolia']) expect(text).toContain(`http://127.0.0.1:8080${address} `);
    const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
    const commands = [...text.matchAll(/^ {4}(npm run (\S+)|node (\S+))$/gm)];
    expect(commands).toHaveLength(3);
    for (const [, , script, file] of commands)
      expect(script === undefined ? existsSync(path.join(root, file ?? '')) : script in scripts).toBe(true);
  });

  it('gives the commands the address where it is not the usual one', () => {
    const text = banner('http://127.0.0.1:9090', controls('arbitrum-sepolia'), TOKEN);
    expect(text).toContain('npm run demo -- http://127.0.0.1:9090\n');
    expect(text).toContain('node examples/nktkas-bot.mjs http://127.0.0.1:9090\n');
  });
});
