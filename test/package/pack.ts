/** Packs the built package, as npm publishes it. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { published } from "../tree/source-files.js";

/** Path of the tarball, in `folder`. */
export async function packInto(folder: string): Promise<string> {
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const { stdout } = await promisify(execFile)("npm", args, { cwd: published });
  return join(folder, JSON.parse(stdout)[0].filename);
}
