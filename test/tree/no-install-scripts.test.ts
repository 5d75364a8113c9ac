/** No package may run install scripts: neither production nor development dependencies. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "./source-files.js";

interface LockedPackage {
  readonly version?: string;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}

const lock: { packages: Record<string, LockedPackage> } = JSON.parse(
  readFileSync(join(root, "package-lock.json"), "utf8"),
);
const manifest: { scripts: Record<string, string>; allowScripts: Record<string, boolean> } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
);
const production = Object.entries(lock.packages).filter(([path, locked]) => path !== "" && !locked.dev);

it("no package of the production tree has an install script", () => {
  expect(production.map(([path]) => path)).toContain("node_modules/@modelcontextprotocol/client");
  const scripted = production.filter(([, locked]) => locked.hasInstallScript);
  expect(scripted.map(([path, locked]) => `${path}@${locked.version}`)).toEqual([]);
});

it("a development package with an install script is listed, and npm does not run it", () => {
  const scripted = Object.entries(lock.packages).filter(
    ([, locked]) => locked.dev && locked.hasInstallScript,
  );
  const names = scripted.map(([path]) => path.split("node_modules/").at(-1) as string);
  expect(names.filter((name) => manifest.allowScripts[name] !== false)).toEqual([]);
});

it("Toolport itself has none", () => {
  const { scripts } = manifest;
  for (const name of ["preinstall", "install", "postinstall", "prepare"])
    expect(scripts).not.toHaveProperty(name);
});
