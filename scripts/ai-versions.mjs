/**
 * Tests the AI SDK adapter with its major versions: `npm run test:ai-versions`. Version 6 is also the one of the suite; here its calls that
 * wait for a person run in several processes.
 *
 * Packs the package and installs it together with that version into `.cache/`, like a user.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cache, npmInstall, root } from "./fetch-tool.mjs";

const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const pinned = (name) => `${name}@${devDependencies[name]}`;
/** Version of `ai`, the provider made for it, and the programs that it runs. Version 5 has no approval. */
const VERSIONS = [
  { ai: "5", provider: "2", programs: ["ai-sdk-smoke"] },
  { ai: "6", provider: "3", programs: ["ai-sdk-suspend"] },
  { ai: "7", provider: "4", programs: ["ai-sdk-smoke", "ai-sdk-suspend"] },
];

const run = (command, args, cwd) =>
  execFileSync(command, args, { cwd, stdio: ["ignore", "pipe", "inherit"], encoding: "utf8" });
mkdirSync(cache, { recursive: true });
const tarball = join(
  cache,
  JSON.parse(run("npm", ["pack", "--json", "--pack-destination", cache], join(root, "packages/toolport")))[0]
    .filename,
);

for (const { ai, provider, programs } of VERSIONS) {
  const folder = join(cache, `ai-${ai}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const others = [pinned("@copilotkit/aimock"), pinned("@photostructure/sqlite")];
  await npmInstall(folder, [tarball, `ai@${ai}`, `@ai-sdk/openai@${provider}`, ...others]);
  for (const program of programs) {
    copyFileSync(join(root, `test/runtimes/${program}.mjs`), join(folder, `${program}.mjs`));
    run(process.execPath, [`${program}.mjs`], folder);
  }
  const { version } = JSON.parse(readFileSync(join(folder, "node_modules/ai/package.json"), "utf8"));
  console.log(`ai ${version}: ${programs.join(" and ")} passed`);
}
rmSync(tarball, { force: true });
