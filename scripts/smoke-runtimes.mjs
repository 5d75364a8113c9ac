/** Runs the smoke test of test/runtimes on Bun, Deno and workerd, against servers of both eras in this process. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { cache, fetchBun, fetchDeno, fetchMiniflare, root, run } from "./fetch-tool.mjs";

const TIMEOUT_MS = 60_000;
const PROGRAM = join(root, "test", "runtimes", "smoke-process.mjs");

/** Starts each runtime; resolves with the checked lines, rejects with the error. */
export const RUNTIMES = {
  bun: async (servers) => inProcess(await fetchBun(), ["run", PROGRAM], servers),
  deno: async (servers) => {
    const home = join(cache, "deno-home");
    await mkdir(home, { recursive: true });
    const env = { ...process.env, DENO_DIR: home, DENO_NO_UPDATE_CHECK: "1" };
    return inProcess(await fetchDeno(), ["run", "--no-lock", "--allow-all", PROGRAM], servers, env);
  },
  workerd: inWorker,
};

/** Both eras over HTTP, without authorization. */
export async function startServers() {
  const { createTestServer } = await import("../packages/toolport/dist/testing/index.js");
  const server = createTestServer({
    tools: {
      greet: {
        inputSchema: {
          type: "object",
          properties: { name: { type: "string", pattern: "^[A-Za-z0-9]+$" } },
          required: ["name"],
        },
        handler: ({ name }) => `Hello ${name}`,
      },
      fail: {
        handler: () => {
          throw new Error("No");
        },
      },
      slow: {
        handler: async ({ ms }, { progress, signal }) => {
          await progress(1, 2);
          await new Promise((resolve) => {
            const timer = setTimeout(resolve, ms);
            signal.addEventListener("abort", () => resolve(clearTimeout(timer)));
          });
          await progress(2, 2);
          return "done";
        },
      },
    },
    resources: { "shop://terms": { mimeType: "text/plain", text: "No refunds" } },
    prompts: { ask: { arguments: [{ name: "topic" }], get: ({ topic }) => `About ${topic}` } },
  });
  const servers = [];
  for (const era of ["legacy", "modern"]) servers.push({ era, url: (await server.http({ era })).url });
  return { servers, close: () => server.close() };
}

async function inProcess(binary, args, servers, env = process.env) {
  const options = { timeoutMs: TIMEOUT_MS, env };
  const { code, signal, output } = await run(binary, [...args, JSON.stringify(servers)], options);
  if (code === 0) return output.trim().split("\n");
  throw new Error(signal ? `It did not end within ${TIMEOUT_MS} ms.\n${output}` : output);
}

async function inWorker(servers) {
  const { Miniflare } = await fetchMiniflare();
  const miniflare = new Miniflare({
    modules: await bundle(join(root, "test", "runtimes", "smoke-worker.mjs")),
    compatibilityDate: "2026-07-01",
  });
  try {
    const body = JSON.stringify(servers);
    const response = await miniflare.dispatchFetch("http://localhost/", { method: "POST", body });
    const { lines, error } = await response.json();
    if (error) throw new Error([...lines, error].join("\n"));
    return lines;
  } finally {
    await miniflare.dispose();
  }
}

/** The bundle for Workers as miniflare modules, the entry first. */
async function bundle(input) {
  const { build } = await import("vite");
  const { output } = await build({
    configFile: false,
    logLevel: "error",
    root,
    resolve: { conditions: ["workerd", "worker", "browser", "module", "production"] },
    build: {
      write: false,
      minify: false,
      target: "es2023",
      rollupOptions: { input, preserveEntrySignatures: "strict" },
      modulePreload: false,
    },
  });
  const chunks = output.filter(({ type }) => type === "chunk");
  chunks.sort((one, other) => Number(other.isEntry) - Number(one.isEntry));
  return chunks.map(({ fileName, code }) => ({ type: "ESModule", path: fileName, contents: code }));
}
