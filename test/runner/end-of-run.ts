type Ending = () => Promise<void>;

/** Kept on the process: the global teardown of a run in one process reads it through a module of its own. */
const registry = globalThis as unknown as { endingsOfTheRun?: Ending[] };

/** What the files of a worker share ends after the last of them. */
export function onEndOfRun(ending: Ending): void {
  if (registry.endingsOfTheRun === undefined) process.on('removeListener', whenJestLetsGo);
  registry.endingsOfTheRun = [...(registry.endingsOfTheRun ?? []), ending];
}

export async function endRun(): Promise<void> {
  const endings = registry.endingsOfTheRun ?? [];
  delete registry.endingsOfTheRun;
  process.off('removeListener', whenJestLetsGo);
  await Promise.all(endings.map((ending) => ending()));
}

/** A worker that jest ends stops listening to its parent and is expected to run out of work by itself. */
function whenJestLetsGo(event: string | symbol): void {
  if (event === 'message' && process.listenerCount('message') === 0) void endRun();
}
