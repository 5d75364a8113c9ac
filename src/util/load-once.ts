/** Loads what many callers share. */

export interface Loader<Loaded> {
  (): Promise<Loaded>;
  /** Undefined before the first load, and after one that failed. */
  current?: Promise<Loaded> | undefined;
}

/** Loads on first use, once for all callers. After a failure, which may be temporary, the next caller tries again. */
export function loadOnce<Loaded>(load: () => Promise<Loaded>): Loader<Loaded> {
  const loader: Loader<Loaded> = () => {
    loader.current ??= load().catch((error: unknown) => {
      loader.current = undefined;
      throw error;
    });
    return loader.current;
  };
  return loader;
}
