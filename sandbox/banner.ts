import type { SandboxControls } from './controls.js';

const USUAL_PORT = '8080';

/**
 * Shown once, when everything is ready. It fits a terminal of 24 lines and 80 columns, so that nothing has scrolled away when a newcomer
 * looks at it.
 */
export function banner(url: string, { chains }: Pick<SandboxControls, 'chains'>, operatorToken: string | null): string {
  const slugs = chains.map(({ definition }) => definition.slug);
  const [only = ''] = slugs;
  const chain = slugs.length === 1 ? only : '{chain}';
  // The examples expect the usual port unless an argument names another address.
  const [argument, npmArgument] = new URL(url).port === USUAL_PORT ? ['', ''] : [` ${url}`, ` -- ${url}`];
  return [
    '',
    `  Diamond Gateway sandbox is ready: ${url}`,
    '',
    `  Look at it    ${url}/   (also /connect, /account, /operator)`,
    `  Native API    ${url}/v1/${chain}   (see /docs)`,
    `  Facade        ${url}/hl/${chain}   (Hyperliquid)`,
    ...(slugs.length === 1 ? [] : [`  Chains        ${slugs.slice(0, 3).join(', ')}${slugs.length > 3 ? ', …' : ''}`]),
    `  Accounts      ${url}/sandbox   (public demo keys)`,
    `  Operator      token ${operatorToken ?? 'as OPERATOR_TOKEN says'}`,
    '',
    '  Next, in another terminal:',
    `    npm run demo${npmArgument}`,
    `    node examples/native-agent.mjs${argument}`,
    `    node examples/nktkas-bot.mjs${argument}`,
    '',
    '  Ctrl-C ends everything.',
    '',
  ].join('\n');
}

export interface Progress {
  step(sentence: string): void;
}

/** One line per step with the elapsed time, so that a slow start shows where it is. */
export function createProgress(now: () => number, write: (line: string) => void): Progress {
  const startedAt = now();
  return { step: (sentence) => write(`[${((now() - startedAt) / 1000).toFixed(1).padStart(4)} s] ${sentence}\n`) };
}
