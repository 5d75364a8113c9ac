/**
 * Fills in the owner of the public repository, in every URL of package.json: `node scripts/set-owner.mjs <owner>`. With
 * `--check` it only fails if the placeholder is still there; publishing starts with that check.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

/** Placeholder for the owner in package.json, used nowhere else. */
export const PLACEHOLDER = "OWNER";

/** The text of package.json with the placeholder replaced by the owner. */
export function setOwner(manifest, owner) {
  if (!/^[a-z\d](?:[a-z\d-]{0,37}[a-z\d])?$/i.test(owner) || owner === PLACEHOLDER)
    throw new Error(`${JSON.stringify(owner)} is not the name of a GitHub user or organization`);
  if (!manifest.includes(`/${PLACEHOLDER}/`)) throw new Error("package.json names an owner already");
  return manifest.replaceAll(`/${PLACEHOLDER}/`, `/${owner}/`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const file = fileURLToPath(new URL("../packages/toolport/package.json", import.meta.url));
  const manifest = readFileSync(file, "utf8");
  const [word] = process.argv.slice(2);
  if (word !== "--check") writeFileSync(file, setOwner(manifest, word ?? ""));
  else if (manifest.includes(`/${PLACEHOLDER}/`)) {
    console.error("package.json names no repository yet. Run: node scripts/set-owner.mjs <owner>");
    process.exitCode = 1;
  }
}
