/** The store of a Durable Object passes the store contract inside workerd, with and without a key. */
import { join } from "node:path";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { leaseCases } from "../contract/store-lease-cases.js";
import { recordCases } from "../contract/store-record-cases.js";
import { watchCases } from "../contract/store-watch-cases.js";
import { type Miniflare, openMiniflare } from "../support/workerd.js";
import { root } from "../tree/source-files.js";

const WORKER = join(root, "test/fixtures/hosts/state-worker.ts");
/** In the order of test/fixtures/hosts/state-worker.ts. */
const cases = [...recordCases, ...leaseCases, ...watchCases].map(({ name }, index) => ({ name, index }));

let miniflare: Miniflare;
beforeAll(async () => {
  miniflare = await openMiniflare({
    modules: [{ type: "ESModule", path: "worker.js", contents: await bundle(WORKER) }],
    durableObjects: { STATE: { className: "StateObject", useSQLite: true } },
  });
});
afterAll(() => miniflare?.dispose());

describe.each(["no", "yes"])("with a key: %s", (key) => {
  it.each(cases)("$name", async ({ index }) => {
    const answer = await miniflare.dispatchFetch(`http://localhost/?case=${index}&key=${key}`);
    expect(await answer.json()).toEqual({});
  });
});

/** The file and its imports as one module. Only our own files may be imported: workerd has no packages. */
async function bundle(input: string): Promise<string> {
  const build = await rolldown({ input, platform: "neutral", external: /^(?!@toolport\/)[^./]/ });
  const { output } = await build.generate({ format: "esm", codeSplitting: false });
  const foreign = output[0].imports;
  if (foreign.length > 0) throw new Error(`${input} needs ${foreign}, which workerd does not have.`);
  return output[0].code;
}
