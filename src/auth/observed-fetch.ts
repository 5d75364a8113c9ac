/** A fetch that remembers how it was answered, for functions of the SDK that only throw a sentence. */

export interface ObservedFetch {
  readonly fetch: typeof globalThis.fetch;
  /** Status of the last answer; undefined if there was none. */
  status(): number | undefined;
}

export function observeFetch(fetch: typeof globalThis.fetch): ObservedFetch {
  let status: number | undefined;
  return {
    async fetch(input, init) {
      status = undefined;
      const response = await fetch(input, init);
      status = response.status;
      return response;
    },
    status: () => status,
  };
}
