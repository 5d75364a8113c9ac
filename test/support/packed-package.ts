/** Installs the packed Toolport into a folder, with only its dependencies. */
import { execFile } from "node:child_process";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { published, root } from "../tree/source-files.js";

const run = promisify(execFile);

/** @param others development packages of this repository that are installed as well */
export async function installPacked(folder: string, others: readonly string[] = []): Promise<void> {
  const { name, dependencies } = JSON.parse(await readFile(join(published, "package.json"), "utf8"));
  const modules = join(folder, "node_modules");
  const home = join(modules, name);
  await mkdir(home, { recursive: true });
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const { stdout } = await run("npm", pack, { cwd: published });
  const [{ filename }] = JSON.parse(stdout);
  await run("tar", ["-xzf", join(folder, filename), "--strip-components=1", "-C", home]);
  for (const each of [...Object.keys(dependencies), ...others]) {
    await mkdir(dirname(join(modules, each)), { recursive: true });
    await symlink(join(root, "node_modules", each), join(modules, each), "junction");
  }
}
