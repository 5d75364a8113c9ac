import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { waitFor } from "../../../test/support/wait-for.js";
import { loadKeychain, loadLocalKeys } from "./local-files.js";
import { createKeyRing, createStoreKey } from "./sealing.js";

let folder = "";
let keyFile = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "toolport-keys-"));
  keyFile = join(folder, "deep", "state.db.key");
  vi.stubEnv("TOOLPORT_STORE_KEY", undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const noKeychain = async () => undefined;
const idOf = async (key: string) => (await createKeyRing(key)).currentId;

describe("without a keychain", () => {
  test("creates a key once, in a private file of the user", async () => {
    const rings = await Promise.all(
      Array.from({ length: 10 }, () => loadLocalKeys({ key: undefined, keyFile, keychain: noKeychain })),
    );
    expect(new Set(rings.map((ring) => ring.currentId)).size).toBe(1);
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "deep")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(folder, "deep"))).toEqual(["state.db.key"]);
    expect(await idOf(readFileSync(keyFile, "utf8"))).toBe(rings[0]!.currentId);
  });

  test("the option takes precedence over the environment, the environment over the file; the key of the file still opens records", async () => {
    const load = (key?: string) => loadLocalKeys({ key, keyFile, keychain: noKeychain });
    const made = (await load()).currentId;
    const [given, set, older] = [createStoreKey(), createStoreKey(), createStoreKey()];
    vi.stubEnv("TOOLPORT_STORE_KEY", ` ${set} , ${older}`);
    expect((await load()).ids).toEqual([await idOf(set), await idOf(older), made]);
    expect((await load(given)).ids).toEqual([await idOf(given), made]);
  });

  test("a file may contain several keys and comments", async () => {
    await loadLocalKeys({ key: undefined, keyFile, keychain: noKeychain });
    const old = readFileSync(keyFile, "utf8").trim();
    const fresh = createStoreKey();
    writeFileSync(keyFile, `# rotated\n${fresh}\n\n${old}\n`);
    const ring = await loadLocalKeys({ key: undefined, keyFile, keychain: noKeychain });
    expect(ring.ids).toEqual([await idOf(fresh), await idOf(old)]);
  });

  test("makes a file private that others can read, with a warning", async () => {
    await loadLocalKeys({ key: undefined, keyFile, keychain: noKeychain });
    chmodSync(keyFile, 0o644);
    const onWarning = vi.fn();
    await loadLocalKeys({ key: undefined, keyFile, keychain: noKeychain, onWarning });
    expect(onWarning).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: "PERMISSIONS_FIXED" }));
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
  });

  test("an empty file is an error, not a reason for a new key", async () => {
    await loadLocalKeys({ key: undefined, keyFile, keychain: noKeychain });
    writeFileSync(keyFile, "");
    await expect(loadLocalKeys({ key: undefined, keyFile, keychain: noKeychain })).rejects.toMatchObject({
      code: "KEY_MISMATCH",
    });
  });
});

describe("with a keychain", () => {
  /** The used part of `@napi-rs/keyring`, backed by a map. */
  const openKeyring = (secrets: Map<string, string>, fails = () => false) => {
    class AsyncEntry {
      readonly #name: string;
      constructor(service: string, account: string, options: { linux: { store: string } }) {
        this.#name = `${service}/${account}`;
        expect(options.linux.store).toBe("secret-service");
      }
      async #use<T>(step: () => T): Promise<T> {
        await new Promise((resolve) => setImmediate(resolve));
        if (fails()) throw Object.assign(new Error("AccessDenied"), { code: "GenericFailure" });
        return step();
      }
      getPassword = () => this.#use(() => secrets.get(this.#name) ?? null);
      setPassword = (secret: string) => this.#use(() => void secrets.set(this.#name, secret));
      deleteCredential = () => this.#use(() => secrets.delete(this.#name));
    }
    return () => loadKeychain(async () => ({ AsyncEntry }));
  };

  test("the keychain stores the key and the file refers to it; ten concurrent creators agree on one key", async () => {
    const secrets = new Map<string, string>();
    const keychain = openKeyring(secrets);
    const rings = await Promise.all(
      Array.from({ length: 10 }, () => loadLocalKeys({ key: undefined, keyFile, keychain })),
    );
    expect(new Set(rings.map((ring) => ring.currentId)).size).toBe(1);
    await waitFor(() => secrets.size === 1);
    const [[account, key] = []] = secrets;
    expect(readFileSync(keyFile, "utf8").trim()).toBe(`keychain:${account?.slice("toolport/".length)}`);
    expect(await idOf(key!)).toBe(rings[0]!.currentId);
  });

  test("that is locked or missing causes an error, and no new key is created", async () => {
    const secrets = new Map<string, string>();
    await loadLocalKeys({ key: undefined, keyFile, keychain: openKeyring(secrets) });
    const before = readFileSync(keyFile, "utf8");
    for (const keychain of [openKeyring(secrets, () => true), openKeyring(new Map()), noKeychain]) {
      await expect(loadLocalKeys({ key: undefined, keyFile, keychain })).rejects.toMatchObject({
        code: "KEY_MISMATCH",
        message: expect.stringContaining("keychain"),
      });
    }
    expect(readFileSync(keyFile, "utf8")).toBe(before);
    // A configured key replaces the key file.
    const key = createStoreKey();
    expect((await loadLocalKeys({ key, keyFile, keychain: noKeychain })).ids).toEqual([await idOf(key)]);
  });

  test("that denies access, as on a headless machine, is not used: the file contains the key", async () => {
    const keychain = openKeyring(new Map(), () => true);
    const ring = await loadLocalKeys({ key: undefined, keyFile, keychain });
    expect(await idOf(readFileSync(keyFile, "utf8"))).toBe(ring.currentId);
  });

  test("whose package is not installed is not used", async () => {
    expect(await loadKeychain(() => Promise.reject(new Error("not found")))).toBeUndefined();
  });
});
