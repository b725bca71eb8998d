import type { OperationId, Operations } from './api.js';
import type { CallOptions } from './http.js';

// oxlint-disable-next-line typescript/no-generated-empty-object-type -- what is asked is whether nothing would do
type Empty = Readonly<Record<never, never>>;

/** The input may be left out where nothing in it is required. */
export type Method<Id extends OperationId> = Empty extends Operations[Id]['input']
  ? (input?: Operations[Id]['input'], options?: CallOptions) => Promise<Operations[Id]['reply']>
  : (input: Operations[Id]['input'], options?: CallOptions) => Promise<Operations[Id]['reply']>;

/** Every operation of the API by its id. */
export type Api = { readonly [Id in OperationId]: Method<Id> };
