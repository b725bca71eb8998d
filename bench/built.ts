/** A module of the gateway as production runs it: the loader that runs sources adds work to every function it loads. */
export const built = <Module>(path: string): Promise<Module> =>
  import(new URL(`../dist/modules/${path}`, import.meta.url).href) as Promise<Module>;
