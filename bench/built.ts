/** A module as it is built: the loader that runs sources adds work to every function it loads. */
export const built = <Module>(path: string): Promise<Module> => import(new URL(`../dist/${path}`, import.meta.url).href) as Promise<Module>;
