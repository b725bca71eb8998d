import { z } from 'zod';
import type { Gateway, Venue } from '../../core/gateway.js';
import type { Address } from '../../core/types.js';
import type { Universe } from '../universe.js';
import type { AccountReader } from './account-state.js';
import type { DayFigures } from '../../core/markets/day-figures.js';

export interface InfoContext {
  readonly gateway: Gateway;
  readonly venue: Venue;
  readonly universe: Universe;
  readonly accounts: AccountReader;
  readonly day: DayFigures;
  /** Resolves an address to its trader: an agent is answered as its trader. */
  readonly traderOf: (user: Address) => Promise<Address>;
}

interface Row<Fields extends z.ZodType> {
  readonly type: string;
  readonly fields: Fields;
  /** The same reply for every client until prices or parameters of the venue change. */
  readonly cached?: boolean;
  readonly answer: (context: InfoContext, fields: z.output<Fields>) => unknown;
}

export type InfoType = Row<z.ZodType>;

/** Checks a row against its own fields; the handler sees only `InfoType`. */
export const infoType = <Fields extends z.ZodType>(row: Row<Fields>): InfoType => row;

export const Nothing = z.object({});

/** Any case is accepted; replies are in lower case. */
export const User = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/)
  .transform((text) => text.toLowerCase() as Address);

/** Only the default dex exists, with an empty name; any other one is empty. */
export const Dex = z.string().max(64).nullish();
export const isOtherDex = (dex: string | null | undefined): boolean => dex !== undefined && dex !== null && dex !== '';

export const Coin = z.string().min(1).max(64);
export const Time = z.int().nonnegative();
