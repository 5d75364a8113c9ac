import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";
import { test } from "vitest";
import { transpileEverything } from "../fixtures/oauth-worker-source.js";
test("stress", async () => {
  using source = await transpileEverything();
  const text = readFileSync("examples/many-processes.ts", "utf8");
  const program = join(source.folder, "many-processes.js");
  writeFileSync(program, ts.transpileModule(text, { compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext } }).outputText);
  for (let round = 0; round < 3; round++) {
    await Promise.all(Array.from({ length: 5 }, async () => {
      const t = performance.now();
      const r = await promisify(execFile)(process.execPath, ["--no-warnings", program]).catch((e) => e);
      console.log("RUN", Math.round(performance.now() - t), JSON.stringify(r.stdout), JSON.stringify(String(r.stderr).slice(0, 1500)));
    }));
  }
}, 300_000);
