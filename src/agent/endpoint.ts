/** Where a model is, and what opens the door. */
export interface Endpoint {
  readonly baseUrl: URL;
  readonly key: string | undefined;
  /** An address under the base, whose query stays. */
  at(path: string): URL;
}

export function createEndpoint(baseUrl: string | URL, key: string | undefined): Endpoint {
  const base = new URL(baseUrl);
  return {
    baseUrl: base,
    key,
    at(path) {
      const url = new URL(base);
      url.pathname = `${base.pathname.replace(/\/+$/, "")}/${path}`;
      return url;
    },
  };
}
