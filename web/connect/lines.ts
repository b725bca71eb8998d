import type { TraderReadiness } from '@diamond-gateway/client/api';
import { agentsOf, API_NAMES, type Api } from './desk.js';

export type Check = TraderReadiness['lines'][number]['check'];

export interface Line {
  readonly check: Check;
  readonly ok: boolean;
  readonly detail: string;
  readonly step: string | null;
}

/** In the order in which a new trader meets them. */
const ORDER: Readonly<Record<Api, readonly Check[]>> = {
  native: ['balance', 'allowance', 'agent', 'delegation', 'gas', 'market'],
  hyperliquid: ['balance', 'allowance', 'agent', 'relayer', 'market'],
};

/** The lines of the gateway. Each API has its own agents, so that line is derived from the list of agents. */
export function linesOf(found: TraderReadiness, api: Api): Line[] {
  return ORDER[api].flatMap((check): Line[] => {
    const given = found.lines.find((line) => line.check === check);
    if (given === undefined) return [];
    const { ok, detail, fix } = given;
    if (check !== 'agent') return [{ check, ok, detail, step: fix?.step ?? null }];
    const own = agentsOf(found, api);
    const names = own.map(({ name, agent }) => (name === '' ? agent : `${name} (${agent})`)).join(', ');
    return [
      {
        check,
        ok: own.length > 0,
        detail: own.length > 0 ? `Authorised: ${names}.` : `No agent is authorised for the ${API_NAMES[api]}.`,
        step: null,
      },
    ];
  });
}
