/** The unit and integration tests of one package: `npm test -w packages/core`. Further arguments go to vitest. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const [name, ...others] = process.argv.slice(2);
// Some tests of the programs start what is built.
const isBuilt = existsSync(join(root, "packages/toolport/dist/index.js"));
if (!isBuilt && ["cli", "console", "gateway", "toolport"].includes(name))
  spawnSync("npm", ["run", "build"], { cwd: root, stdio: "inherit", shell: process.platform === "win32" });
const projects = ["--project", "unit", "--project", "integration", "--passWithNoTests"];
const vitest = join(root, "node_modules/vitest/vitest.mjs");
const { status } = spawnSync(process.execPath, [vitest, "run", ...projects, `packages/${name}/`, ...others], {
  cwd: root,
  stdio: "inherit",
});
process.exitCode = status ?? 1;
