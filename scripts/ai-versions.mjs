/**
 * Tests the AI SDK adapter with the major versions that the suite does not use: `npm run test:ai-versions`.
 *
 * Packs the package and installs it together with that version into `.cache/`, like a user.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cache, npmInstall, root } from "./fetch-tool.mjs";

const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const pinned = (name) => `${name}@${devDependencies[name]}`;
/** Version of `ai`, and of the provider made for it. */
const VERSIONS = [
  { ai: "5", provider: "2" },
  { ai: "7", provider: "4" },
];

const run = (command, args, cwd) =>
  execFileSync(command, args, { cwd, stdio: ["ignore", "pipe", "inherit"], encoding: "utf8" });
mkdirSync(cache, { recursive: true });
const tarball = join(
  cache,
  JSON.parse(run("npm", ["pack", "--json", "--pack-destination", cache], root))[0].filename,
);

for (const { ai, provider } of VERSIONS) {
  const folder = join(cache, `ai-${ai}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const packages = [tarball, `ai@${ai}`, `@ai-sdk/openai@${provider}`, pinned("@copilotkit/aimock")];
  await npmInstall(folder, packages);
  copyFileSync(join(root, "test/runtimes/ai-sdk-smoke.mjs"), join(folder, "smoke.mjs"));
  run(process.execPath, ["smoke.mjs"], folder);
  const { version } = JSON.parse(readFileSync(join(folder, "node_modules/ai/package.json"), "utf8"));
  console.log(`ai ${version}: generateText and streamText with tools passed`);
}
rmSync(tarball, { force: true });
