/** No package may run install scripts: neither production nor development dependencies. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "./source-files.js";

interface LockedPackage {
  readonly version?: string;
  readonly dev?: boolean;
  /** Only for development or as an optional peer, which users install themselves. */
  readonly devOptional?: boolean;
  readonly hasInstallScript?: boolean;
}

const lock: { packages: Record<string, LockedPackage> } = JSON.parse(
  readFileSync(join(root, "package-lock.json"), "utf8"),
);
const manifest: { allowScripts: Record<string, boolean> } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
);
const isForDevelopment = (locked: LockedPackage) => locked.dev === true || locked.devOptional === true;
const production = Object.entries(lock.packages).filter(
  ([path, locked]) => path !== "" && !isForDevelopment(locked),
);

it("no package of the production tree has an install script", () => {
  expect(production.map(([path]) => path)).toContain("node_modules/@modelcontextprotocol/client");
  const scripted = production.filter(([, locked]) => locked.hasInstallScript);
  expect(scripted.map(([path, locked]) => `${path}@${locked.version}`)).toEqual([]);
});

it("a development package with an install script is listed, and npm does not run it", () => {
  const scripted = Object.entries(lock.packages).filter(
    ([, locked]) => isForDevelopment(locked) && locked.hasInstallScript,
  );
  const names = scripted.map(([path]) => path.split("node_modules/").at(-1) as string);
  expect(names.filter((name) => manifest.allowScripts[name] !== false)).toEqual([]);
});

it.each([".", ...readdirSync(join(root, "packages")).map((name) => `packages/${name}`)])(
  "%s has none",
  (folder) => {
    const { scripts } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
    for (const name of ["preinstall", "install", "postinstall", "prepare"])
      expect(scripts).not.toHaveProperty(name);
  },
);
