/** Tests that every store on a database server runs: faults, and many processes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { type Store, ToolportError } from "toolport";
import { expect } from "vitest";
import { transpileEverything } from "../fixtures/oauth-worker-source.js";

const WORKER = fileURLToPath(new URL("../fixtures/hosts/store-worker.mjs", import.meta.url));

/** A store reports a problem of its server after 5 s at most; a busy machine gets ten times that. */
const TROUBLE_MS = 50_000;

/** The error of a call during a server problem: typed, in time, and without the password. */
export async function troubleOf(call: Promise<unknown>, password: string): Promise<ToolportError> {
  const startedAt = performance.now();
  const error = await call.then(
    () => new Error("Expected a failure"),
    (reason: unknown) => reason,
  );
  expect(performance.now() - startedAt).toBeLessThan(TROUBLE_MS);
  if (!ToolportError.isInstance(error)) throw error;
  expect(error.name).toBe("StateError");
  expect(inspect(error, { depth: null, showHidden: true })).not.toContain(password);
  return error;
}

/** The stores as JavaScript, outside the repository, where no driver is found. */
export async function storesWithoutDrivers(): Promise<{ folder: string } & Disposable> {
  using source = await transpileEverything({ useBuild: false });
  const folder = mkdtempSync(join(tmpdir(), "toolport-source-"));
  cpSync(join(source.folder, "stores"), join(folder, "stores"), { recursive: true });
  cpSync(join(source.folder, "base"), join(folder, "node_modules/@toolport/base"), { recursive: true });
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Runs one process to its end and returns its output; rejects if it fails. */
export async function runWorker(args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [WORKER, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let [output, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`A worker ended with ${code}: ${errors}`);
  return output;
}

/** Eight processes increment the same number, `total` times in all. Returns the number and the figures of the run. */
export async function countTogether(
  { kind, url, total, folder }: { kind: string; url: string; total: number; folder: string },
  store: (name: string) => Store,
) {
  const name = "together";
  const counter = store(name);
  try {
    const startedAt = performance.now();
    const args = [folder, kind, url, name, "increments", String(total / 8)];
    const outputs = await Promise.all(Array.from({ length: 8 }, () => runWorker(args)));
    const seconds = (performance.now() - startedAt) / 1_000;
    const conflicts = outputs.reduce((sum, output) => sum + JSON.parse(output).conflicts, 0);
    return { value: (await counter.get("counter"))?.value, seconds, conflicts };
  } finally {
    await counter.close();
  }
}
