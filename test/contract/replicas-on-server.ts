/** What replicas share through a database server: the contract, and the faults of the server. */
import type { Store } from "toolport";
import { describe, expect, test } from "vitest";
import { loadGatewayKeys } from "../../packages/gateway/src/replicas/gateway-key.js";
import { Mailbox } from "../../packages/gateway/src/replicas/mailbox.js";
import { createSeal } from "../../packages/gateway/src/replicas/seal.js";
import { createSharedNotes } from "../../packages/gateway/src/replicas/shared-notes.js";
import { slowStore } from "../support/slow-store.js";
import { useServer } from "../support/use-server.js";
import { waitFor } from "../support/wait-for.js";
import { testMailboxProcesses } from "./mailbox-processes.js";
import { describeReplicas } from "./replica-contract.js";
import type { DatabaseService, ServerStore } from "./server-stores.js";

const HOUR_MS = 3_600_000;

/** Runs the contract on a real server, then stops, kills and freezes the server. */
export function describeServerReplicas<Service extends DatabaseService>(
  database: ServerStore<Service>,
): void {
  describe.skipIf(database.isMissing)(`with ${database.product}`, () => {
    const service = useServer(() => database.start());
    let count = 0;

    /** Stores on one fresh namespace. */
    function openNamespace() {
      const namespace = `replicas_${++count}`;
      const stores: Store[] = [];
      return {
        namespace,
        open(): Store {
          const store = database.open(service.url, namespace);
          stores.push(store);
          return store;
        },
        close: () => Promise.all(stores.map((store) => store.close())),
      };
    }

    const withStores = async (work: (open: () => Store) => Promise<void>): Promise<void> => {
      const { open, close } = openNamespace();
      try {
        await work(open);
      } finally {
        await close();
      }
    };

    describeReplicas(database.product, async () => {
      const { namespace, open, close } = openNamespace();
      return {
        store: open(),
        another: open,
        contents: () => database.contents(service, namespace),
        remove: async () => void (await close()),
      };
    });

    test("a store without a key is a configuration error that names the variable", async () => {
      const store = database.open(service.url);
      await expect(loadGatewayKeys(store)).rejects.toMatchObject({
        name: "ConfigError",
        message: expect.stringContaining("TOOLPORT_STORE_KEY"),
      });
      await store.close();
    });

    test("seals go on while the server is down; notes are known here, and elsewhere when it is back", async () => {
      await withStores(async (open) => {
        const [near, far] = [open(), open()];
        const keys = await loadGatewayKeys(near);
        const seal = createSeal(keys);
        const [here, there] = [createSharedNotes(near, "n/"), createSharedNotes(far, "n/")];
        await here.set("before", 1, HOUR_MS);
        await waitFor(() => there.get("before"), { label: "the first note" });
        await service.kill();
        const text = seal.seal("session", "a");
        expect(seal.open("session", text)).toBe("a");
        // An unknown key id makes it ask the store, which fails quietly.
        const foreign = Buffer.from(text, "base64url");
        foreign[1]! ^= 1;
        expect(await seal.openFresh("session", foreign.toString("base64url"))).toBeUndefined();
        await expect(here.set("meanwhile", 2, HOUR_MS)).rejects.toMatchObject({ code: "UNAVAILABLE" });
        expect(here.get("meanwhile")?.value).toBe(2);
        expect(there.get("before")?.value).toBe(1);
        const late = createSharedNotes(open(), "n/");
        await service.start();
        await waitFor(() => there.get("meanwhile")?.value === 2, { label: "the note that had to wait" });
        await late.ready;
        expect(late.get("before")?.value).toBe(1);
        for (const notes of [here, there, late]) notes.close();
        keys.close();
      });
    });

    test("messages arrive while the server takes 2 s for every answer", async () => {
      await withStores(async (open) => {
        const ways = { delayMs: 0 };
        const [a, b] = [new Mailbox(slowStore(open(), ways)), new Mailbox(slowStore(open(), ways))];
        b.receive("call", async (body) => body, { principal: "ada" });
        const send = (body: unknown) => a.send(b.replica, "call", body, { principal: "ada" });
        expect(await send("fast")).toBe("fast");
        ways.delayMs = 1_000;
        expect(await Promise.all([send("slow"), send("too")])).toEqual(["slow", "too"]);
        ways.delayMs = 0;
        a.close();
        b.close();
      });
    });

    test("messages fail with a typed error while the server is down, and work once it runs", async () => {
      await withStores(async (open) => {
        const [a, b] = [new Mailbox(open()), new Mailbox(open())];
        b.receive("call", async (body) => body, { principal: "ada" });
        const send = (body: unknown) => a.send(b.replica, "call", body, { principal: "ada" });
        expect(await send(1)).toBe(1);
        await service.kill();
        await expect(send(2)).rejects.toMatchObject({ name: "StateError", code: "UNAVAILABLE" });
        await service.start();
        // The replicas first have to follow the changes again.
        await waitFor(async () => (await send(3)) === 3, { label: "a message to arrive" });
        a.close();
        b.close();
      });
    });

    testMailboxProcesses(async () => {
      const namespace = `replicas_${++count}`;
      const store = database.open(service.url, namespace);
      return { kind: database.kind, place: service.url, namespace, store, close: () => store.close() };
    });
  });
}
