/** Logins of an agent in workerd are encrypted with `TOOLPORT_STORE_KEY` of the Worker's bindings; without a key they are plain text, with a warning. */
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type OAuthBench, startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import {
  createWorkerProject,
  type RunningWorker,
  runWorker,
  type WorkerProject,
} from "../support/workerd.js";

const [first, second] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")] as const;
const keys = (value: string) => ({ TOOLPORT_STORE_KEY: value });

let project: WorkerProject;
let bench: OAuthBench;
let folder: string;
let worker: RunningWorker;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolport-objects-"));
  project = await createWorkerProject([]);
  const { text } = await project.bundle();
  bench = await startOAuthBench();
  worker = await runWorker({ script: text, folder });
});
afterAll(async () => {
  await worker?.[Symbol.asyncDispose]();
  await bench?.[Symbol.asyncDispose]();
  await project?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function logInto(name: string): Promise<void> {
  const added = (await worker.rpc(name, "add", "Protected", bench.url, "localhost:8787")) as {
    authUrl: string;
  };
  const page = await worker.fetch((await logIn(added.authUrl, name)).href);
  expect(page.status).toBe(200);
  expect(await worker.rpc(name, "reconnect")).toBe("connected");
}

const tokens = () => [...bench.secrets.keys(), ...bench.secrets.values()].filter((text) => text.length > 20);
const leaked = (text: string) => tokens().filter((token) => text.includes(token));
const recordsOf = async (name: string) => ((await worker.rpc(name, "records")) as string[]).join("\n");

/** Every storage file of all objects, including write-ahead logs. */
async function filesText(): Promise<string> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const texts = files
    .filter((file) => file.isFile())
    .map((file) => readFile(join(file.parentPath, file.name), "latin1"));
  return (await Promise.all(texts)).join("\n");
}

it("stores plain text without a key, warns once, and encrypts everything when there is a key", async () => {
  await logInto("ada");
  expect(await worker.rpc("ada", "snapshot")).toMatchObject({ sealed: false });
  expect(leaked(await recordsOf("ada")).length).toBeGreaterThan(0);
  await worker.rpc("other", "add", "Protected", bench.url, "localhost:8787");
  expect(worker.logged.filter((line) => line.includes("TOOLPORT_STORE_KEY"))).toHaveLength(1);

  await worker.restart(keys(first));
  expect(await worker.rpc("ada", "snapshot")).toMatchObject({ sealed: true });
  expect(await worker.rpc("ada", "reconnect")).toBe("connected");
  await worker.rpc("ada", "add", "Another", `${bench.url}?other`, "localhost:8787");
  expect(leaked(await recordsOf("ada"))).toEqual([]);
  expect(await recordsOf("ada")).not.toContain('"kid\\":\\"none');
});

it("encrypts with the first key of a list and decrypts with the others; no key is in any file", async () => {
  await logInto("bob");
  await worker.restart(keys(`${second}, ${first}`));
  expect(await worker.rpc("bob", "reconnect")).toBe("connected");
  await worker.rpc("bob", "add", "Another", `${bench.url}?other`, "localhost:8787");
  await worker.restart(keys(second));
  expect(await worker.rpc("bob", "seen")).toMatchObject({ servers: ["Another", "Protected"] });
  const text = await filesText();
  expect(text).toContain("toolport_records");
  const forms = [first, second].flatMap((key) => [key, Buffer.from(key, "base64").toString("hex")]);
  expect(forms.filter((form) => text.includes(form))).toEqual([]);
  expect(text).not.toContain(Buffer.from(first, "base64").toString("latin1"));
});

it.each([
  ["missing", {}],
  ["empty", keys("")],
  ["another", keys(first)],
  ["not 32 bytes long", keys("c2hvcnQ=")],
])("is KEY_MISMATCH if the key is %s, and nothing is written", async (_what, bindings) => {
  await worker.restart(bindings);
  const before = await recordsOf("bob");
  for (const method of ["seen", "aiTools", "reconnect"])
    await expect(worker.rpc("bob", method)).rejects.toThrow("KEY_MISMATCH");
  const adding = worker.rpc("bob", "add", "Third", `${bench.url}?third`, "localhost:8787");
  await expect(adding).rejects.toThrow("KEY_MISMATCH");
  expect(await recordsOf("bob")).toBe(before);
});

it("restores everything when the key is available again", async () => {
  await worker.restart(keys(second));
  expect(await worker.rpc("bob", "seen")).toMatchObject({ servers: ["Another", "Protected"] });
  expect(await worker.rpc("bob", "reconnect", "Protected")).toBe("connected");
});
