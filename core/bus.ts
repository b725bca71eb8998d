import type { Cancel } from './types.js';

type Listener<Event> = (event: Event) => void;

export interface Bus<Events extends object> {
  on<Kind extends keyof Events>(kind: Kind, listener: Listener<Events[Kind]>): Cancel;
  emit<Kind extends keyof Events>(kind: Kind, event: Events[Kind]): void;
}

/** Synchronous and typed. A listener that throws is reported and never stops the publisher or the other listeners. */
export function createBus<Events extends object>(onFault: (kind: keyof Events, error: unknown) => void): Bus<Events> {
  const listeners: { [Kind in keyof Events]?: Set<Listener<Events[Kind]>> } = {};

  return {
    on(kind, listener) {
      const set = (listeners[kind] ??= new Set());
      set.add(listener);
      return () => void set.delete(listener);
    },
    emit(kind, event) {
      for (const listener of [...(listeners[kind] ?? [])]) {
        try {
          listener(event);
        } catch (error) {
          onFault(kind, error);
        }
      }
    },
  };
}
