/** The suite of every store on a database server: the store contract, common faults, and many processes. */
import type { Store } from "toolport";
import { afterEach, describe, expect, test } from "vitest";
import { transpileEverything } from "../fixtures/oauth-worker-source.js";
import { openSockets, takeLeakSnapshot, waitForNoLeaks } from "../support/leaks.js";
import { countTogether, runWorker, storesWithoutDrivers, troubleOf } from "../support/shared-store.js";
import { useServer } from "../support/use-server.js";
import { waitFor } from "../support/wait-for.js";
import type { DatabaseService, ServerStore } from "./server-stores.js";
import { describeStore } from "./store-contract.js";

const TOTAL = process.env["TOOLPORT_LONG"] ? 10_000 : 400;
const ACCESS = ["by URL", "with the user's connection"];

/** A running server and the stores that one test opened on it. */
export interface StoreServer<Service extends DatabaseService> {
  readonly database: ServerStore<Service>;
  readonly service: Service;
  /** Opens a store and closes it after the test. @default service.url, "trouble" */
  open(urlOrConnection?: unknown, namespace?: string): Store;
  /** Closes this store after the test. */
  closeAfterTest(store: Store): Store;
}

/** Starts the server for the surrounding `describe`. */
export function useStoreServer<Service extends DatabaseService>(
  database: ServerStore<Service>,
): StoreServer<Service> {
  const service = useServer(() => database.start());
  const stores: Store[] = [];
  const closeAfterTest = (store: Store): Store => {
    stores.push(store);
    return store;
  };
  afterEach(() => Promise.all(stores.splice(0).map((store) => store.close())));
  return {
    database,
    service,
    open: (urlOrConnection = service.url, namespace = "trouble") =>
      closeAfterTest(database.open(urlOrConnection, namespace)),
    closeAfterTest,
  };
}

/** Runs the store contract on a real server, by URL and through the user's connection. */
export function describeServerContract<Service extends DatabaseService>(
  database: ServerStore<Service>,
): void {
  describe.skipIf(database.isMissing)(`with ${database.product}`, () => {
    const service = useServer(() => database.start());
    let count = 0;

    describe.each(ACCESS)("%s", (access) => {
      describeStore(database.kind, async () => {
        // PostgreSQL has to quote this name.
        const namespace = `Test "${++count}"`;
        const opened: { close(): Promise<void> }[] = [];
        const track = <T extends { close(): Promise<void> }>(closable: T): T => {
          opened.unshift(closable);
          return closable;
        };
        const open = (): Store => {
          const target = access === "by URL" ? service.url : track(database.connect(service)).value;
          return track(database.open(target, namespace));
        };
        return {
          store: open(),
          another: open,
          contents: () => database.contents(service, namespace),
          async remove() {
            for (const closable of opened) await closable.close();
          },
        };
      });
    });
  });
}

/** The faults that every database server can have. Call it inside the `describe` of `useStoreServer`. */
export function testServerFaults<Service extends DatabaseService>(server: StoreServer<Service>): void {
  const { database, open } = server;
  const trouble = (call: Promise<unknown>) => troubleOf(call, server.service.password);

  test("fails with a typed error while the server is down, and works once it runs", async () => {
    await server.service.stop();
    const store = open();
    const error = await trouble(store.get("a"));
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    expect(error.message).toContain(`127.0.0.1:${server.service.port}`);
    expect(error.message).toContain("ECONNREFUSED");
    await server.service.start();
    expect(await store.put("a", 1)).toBeGreaterThan(0);
  });

  test("fails calls at once when the server dies, and reads every committed record after a restart", async () => {
    const store = open();
    const version = await store.put("a", "kept", { secret: true });
    await server.service.kill();
    const calls = [store.get("a"), store.put("a", 2), store.lease("l", { ttlMs: 1_000 })];
    for (const error of await Promise.all(calls.map(trouble))) {
      expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    }
    await server.service.start();
    expect(await store.get("a")).toEqual({ value: "kept", version, sealed: true });
    expect(await store.put("a", 2, { ifVersion: version })).toBeGreaterThan(version as number);
  });

  test.each(ACCESS)(
    "%s: ends every call in time while the server is frozen, and works after it",
    async (access) => {
      const connection = access === "by URL" ? undefined : database.connect(server.service);
      const store = open(connection?.value);
      await store.put("a", 1);
      server.service.pause();
      try {
        const calls = Array.from({ length: 50 }, () => trouble(store.get("a")));
        for (const error of await Promise.all(calls)) expect(error.code).toBe("UNAVAILABLE");
      } finally {
        server.service.resume();
      }
      // The server first ends the requests that it got while it was frozen.
      await waitFor(async () => (await store.get("a"))?.value === 1);
      await store.close();
      await connection?.close();
    },
  );

  test("says that the server refused the login, without the wrong password", async () => {
    const wrong = "wrong-canary-91c2";
    const store = open(server.service.url.replace(server.service.password, wrong));
    const error = await troubleOf(store.put("a", 1), wrong);
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error.message).toContain("refused the login");
  });

  test.each(database.foreignUrls)("refuses %s without repeating it", (url) => {
    expect(() => database.open(url)).toThrow(`is not a ${database.product} URL`);
    expect(() => database.open(url)).not.toThrow("canary-91c2");
  });

  test("resumes watching after a restart of the server and reports the changes it missed", async () => {
    const [store, other] = [open(), open()];
    await other.put("w/deleted", 1);
    const changed = new Set<string>();
    store.watch("w/", (key) => changed.add(key));
    await other.put("w/1", 1);
    await waitFor(() => changed.has("w/1"));
    changed.clear();
    await server.service.kill();
    await server.service.start();
    await other.put("w/2", 1);
    await other.delete("w/deleted");
    await waitFor(() => changed.has("w/2") && changed.has("w/deleted"), {
      label: "the missed changes to be reported",
    });
    changed.clear();
    await other.put("w/3", 1);
    await waitFor(() => changed.has("w/3"), { label: "a new change to be reported" });
  });

  test.each(["running", "frozen"])("close leaves no socket behind while the server is %s", async (state) => {
    const before = takeLeakSnapshot();
    const store = open();
    store.watch("", () => {});
    await Promise.all([store.put("a", 1), store.list(""), store.get("b")]);
    if (state === "frozen") server.service.pause();
    try {
      await Promise.all([store.close(), store.close()]);
      expect(openSockets()).toBe(before.sockets);
    } finally {
      server.service.resume();
    }
    await waitForNoLeaks(before);
  });

  test("leaves the user's connection open and removes its listeners from it", async () => {
    const connection = database.connect(server.service);
    const listeners = connection.errorListeners();
    const store = open(connection.value);
    store.watch("", () => {});
    await store.put("a", 1);
    await store.close();
    await connection.ping();
    expect(connection.errorListeners()).toBe(listeners);
    await connection.close();
  });

  test("needs a key for secrets, and the error says how to make one", async () => {
    const store = server.closeAfterTest(database.open(server.service.url));
    await expect(store.put("s", 1, { secret: true })).rejects.toThrow("openssl rand -base64 32");
    expect(await store.put("s", 1)).toBeGreaterThan(0);
  });

  describe("in other processes", () => {
    const source = useServer(() => transpileEverything({ useBuild: false }));

    test(`loses none of ${TOTAL} updates of one record by eight processes`, {
      timeout: 300_000,
    }, async () => {
      const result = await countTogether(
        { kind: database.kind, url: server.service.url, total: TOTAL, folder: source.folder },
        (name) => open(server.service.url, name),
      );
      if (process.env["TOOLPORT_LONG"]) console.log(`${database.product}:`, result);
      expect(result.value).toBe(TOTAL);
    });

    test("does not keep a process alive that never closes it", async () => {
      const args = [source.folder, database.kind, server.service.url, "forgets", "forgets"];
      expect(await runWorker(args)).toBe("done");
    });
  });
}

/** Opens the store where its driver is not installed. Needs no server. */
export function testMissingPackage({ kind, packageName }: Pick<ServerStore, "kind" | "packageName">): void {
  test("the error names the package to install", async () => {
    const apart = await storesWithoutDrivers();
    try {
      const output = await runWorker([apart.folder, kind, `${kind}://127.0.0.1:1/0`, "x", "fails"]);
      expect(JSON.parse(output)).toMatchObject({
        code: "UNAVAILABLE",
        message: expect.stringContaining(`npm install ${packageName}`),
      });
    } finally {
      apart[Symbol.dispose]();
    }
  });
}
