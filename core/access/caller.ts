import type { AgentMode, Scope } from '../domain/agent.js';
import type { Address } from '../types.js';

/** An authenticated agent. `sender` broadcasts: the agent (native) or the relayer (facade). All addresses are in lower case. */
export interface AgentCaller {
  readonly via: 'agent';
  readonly trader: Address;
  readonly agent: Address;
  readonly sender: Address;
  readonly mode: AgentMode;
  readonly scope: Scope;
}

/** A read-only API key. */
export interface KeyCaller {
  readonly via: 'apiKey';
  readonly trader: Address;
  readonly label: string;
}

export type Caller = AgentCaller | KeyCaller;
