/** All replicas of a gateway have the same keys, on every store. */
import { expect } from "vitest";
import { loadGatewayKeys } from "../../packages/gateway/src/replicas/gateway-key.js";
import { createSeal } from "../../packages/gateway/src/replicas/seal.js";
import { waitFor } from "../support/wait-for.js";
import type { StoreCase } from "./store-subject.js";

export const gatewayKeyCases: readonly StoreCase[] = [
  {
    name: "replicas that start at once agree on one key",
    async run({ store, another }) {
      const stores = [store, await another(), await another(), store];
      const all = await Promise.all(stores.map(loadGatewayKeys));
      const text = createSeal(all[0]!).seal("session", { principal: "a" });
      for (const keys of all) {
        expect(createSeal(keys).open("session", text)).toEqual({ principal: "a" });
        keys.close();
      }
    },
  },
  {
    name: "a key rotated on one replica opens on the others, and old seals still open",
    async run({ store, another }) {
      const [first, second] = [await loadGatewayKeys(store), await loadGatewayKeys(await another())];
      const [a, b] = [createSeal(first), createSeal(second)];
      const old = a.seal("session", "old");
      await Promise.all([first.rotate({ delayMs: 0 }), second.rotate({ delayMs: 0 })]);
      // Without the notice of the store: a key that this replica does not know yet.
      expect(await b.openFresh("session", a.seal("session", "new"))).toBe("new");
      await waitFor(() => first.current().id === second.current().id, { label: "the same current key" });
      expect(b.open("session", a.seal("session", "newer"))).toBe("newer");
      for (const seal of [a, b]) expect(seal.open("session", old)).toBe("old");
      first.close();
      second.close();
    },
  },
  {
    name: "keys outlive the replicas and are encrypted in the store",
    async run({ store, another, contents }) {
      const before = await loadGatewayKeys(store);
      const text = createSeal(before).seal("session", "kept");
      before.close();
      const after = await loadGatewayKeys(await another());
      expect(createSeal(after).open("session", text)).toBe("kept");
      after.close();
      const secret = Buffer.from(after.current().secret);
      const written = (await contents?.()) ?? "";
      for (const encoding of ["base64", "hex", "latin1"] as const)
        expect(written).not.toContain(secret.toString(encoding));
    },
  },
  {
    name: "a record that was not sealed with the store's key is refused",
    async run({ store }) {
      const secret = Buffer.alloc(32, 7).toString("base64");
      await store.put("serve/keys", { format: 1, keys: [{ id: "00000000", secret, activeAt: 0 }] });
      await expect(loadGatewayKeys(store)).rejects.toMatchObject({ name: "StateError", code: "CORRUPT" });
    },
  },
  {
    name: "an unknown format is refused by a start, and ignored by a running replica",
    async run({ store, another }) {
      const keys = await loadGatewayKeys(store);
      const seal = createSeal(keys);
      const text = seal.seal("session", "kept");
      await (await another()).put("serve/keys", { format: 2, rings: [] }, { secret: true });
      await expect(loadGatewayKeys(store)).rejects.toThrow("same version of Toolport");
      await keys.refresh();
      expect(seal.open("session", text)).toBe("kept");
      keys.close();
    },
  },
  {
    name: "replicas write their keys again if the database lost them",
    async run({ store, another }) {
      const keys = await loadGatewayKeys(store);
      const text = createSeal(keys).seal("session", "kept");
      const other = await another();
      await other.delete("serve/keys");
      await waitFor(async () => (await other.get("serve/keys")) !== undefined, { label: "the keys" });
      const restarted = await loadGatewayKeys(other);
      expect(createSeal(restarted).open("session", text)).toBe("kept");
      keys.close();
      restarted.close();
    },
  },
];
