/** Storage of the tests' authorization server: plain maps that a test may read and change. */
import type { Adapter, AdapterPayload } from "oidc-provider";

/** All records of one model, by id. */
type Table = Map<string, AdapterPayload>;

export interface OAuthStorage {
  readonly adapter: (model: string) => Adapter;
  table(model: string): Table;
  /** Deletes tokens and codes of a grant, and the grant itself. */
  dropGrant(grantId: string): void;
}

const BELONGS_TO_GRANT = ["AccessToken", "AuthorizationCode", "RefreshToken"];

export function createOAuthStorage(): OAuthStorage {
  const tables = new Map<string, Table>();
  const table = (model: string): Table => {
    const found = tables.get(model) ?? new Map<string, AdapterPayload>();
    tables.set(model, found);
    return found;
  };

  const dropTokens = (grantId: string, models: readonly string[]) => {
    for (const model of models) {
      for (const [id, payload] of table(model)) if (payload.grantId === grantId) table(model).delete(id);
    }
  };

  return {
    table,
    dropGrant(grantId) {
      dropTokens(grantId, BELONGS_TO_GRANT);
      table("Grant").delete(grantId);
    },
    adapter: (model) => ({
      async upsert(id, payload) {
        table(model).set(id, payload);
      },
      async find(id) {
        return table(model).get(id);
      },
      async findByUid(uid) {
        return [...table(model).values()].find((payload) => payload.uid === uid);
      },
      async findByUserCode() {
        return undefined;
      },
      async consume(id) {
        const payload = table(model).get(id);
        if (payload) payload.consumed = Math.floor(Date.now() / 1_000);
      },
      async destroy(id) {
        table(model).delete(id);
      },
      async revokeByGrantId(grantId) {
        dropTokens(grantId, [model]);
      },
    }),
  };
}
