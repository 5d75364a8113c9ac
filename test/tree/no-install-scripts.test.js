/** Nothing that users install with Toolport may run a script while it is installed. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "./source-files.js";
const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
const production = Object.entries(lock.packages).filter(([path, locked]) => path !== "" && !locked.dev);
it("no package of the production tree has an install script", () => {
    expect(production.map(([path]) => path)).toContain("node_modules/@modelcontextprotocol/client");
    const scripted = production.filter(([, locked]) => locked.hasInstallScript);
    expect(scripted.map(([path, locked]) => `${path}@${locked.version}`)).toEqual([]);
});
it("Toolport itself has none", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    for (const name of ["preinstall", "install", "postinstall", "prepare"])
        expect(scripts).not.toHaveProperty(name);
});
