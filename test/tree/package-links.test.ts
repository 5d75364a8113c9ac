/** The packed package: its URLs, and the links of the README and the guides. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { published, root } from "./source-files.js";

const manifest = JSON.parse(readFileSync(join(published, "package.json"), "utf8"));
const packed = new Set<string>(
  JSON.parse(
    execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
      cwd: published,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }),
  )[0].files.map(({ path }: { path: string }) => path),
);
const pages = [...packed].filter((path) => path.endsWith(".md"));

/** Targets of links and images, without code. */
function linksOf(page: string): string[] {
  const text = readFileSync(join(root, page), "utf8")
    .replaceAll(/^```.*?^```/gms, "")
    .replaceAll(/`[^`]*`/g, "");
  return [...text.matchAll(/\]\(([^)\s]+)\)|<img[^>]* src="([^"]+)"/g)].map(
    ([, link, image = ""]) => link ?? image,
  );
}

/** Links of a page to files that are not in the package. */
function deadLinks(page: string): string[] {
  return linksOf(page).filter((target) => {
    if (/^https:\/\//.test(target) || target.startsWith("#")) return false;
    const path = posix.join(posix.dirname(page), target.replace(/#.*$/, ""));
    return !packed.has(path);
  });
}

it("README and guides are packed", () => {
  expect(pages).toEqual(expect.arrayContaining(["README.md", "docs/README.md", "docs/oauth.md"]));
  expect(linksOf("README.md").length).toBeGreaterThan(50);
});

it("the first screen of the README has a picture that npm shows", () => {
  // npm resolves a relative image in Markdown against the repository; it does not read `<picture>`.
  const text = readFileSync(join(root, "README.md"), "utf8");
  const [, image = ""] = /^!\[[^\]]+\]\(([^)]+)\)$/m.exec(text.split("\n## ")[0] ?? "") ?? [];
  expect(packed).toContain(image);
  expect(text).not.toContain("<picture");
});

it.each(pages)("every link of %s points to a file of the package or to another site", (page) => {
  expect(deadLinks(page)).toEqual([]);
});

describe("URLs of package.json", () => {
  const { homepage, repository, bugs } = manifest;
  const addresses = [homepage, repository.url, bugs.url] as string[];

  it("name one repository, which npm uses to resolve links", () => {
    const repositories = addresses.map((url) => /github\.com\/([^/]+\/[^/#.]+)/.exec(url)?.[1]);
    expect(new Set(repositories).size).toBe(1);
    expect(repositories[0]).toMatch(/\/toolport$/);
  });

  it("have one placeholder that a script replaces; publishing fails while it is there", async () => {
    const { setOwner, PLACEHOLDER } = await import("../../scripts/set-owner.mjs" as string);
    const filled = JSON.parse(
      setOwner(JSON.stringify({ homepage: `https://github.com/${PLACEHOLDER}/x#y` }), "acme"),
    );
    expect(filled).toEqual({ homepage: "https://github.com/acme/x#y" });
    for (const wrong of ["", "a/b", "-x", PLACEHOLDER, '"'])
      expect(() => setOwner(`/${PLACEHOLDER}/`, wrong)).toThrow("not the name");
    expect(() => setOwner("/acme/", "other")).toThrow("already");
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(scripts["check:publish"]).toMatch(/^node scripts\/set-owner\.mjs --check && /);
    expect(manifest.scripts.prepublishOnly).toContain("check:publish");
    const isOpen = addresses.every((url) => url.includes(`/${PLACEHOLDER}/`));
    const check = () =>
      execFileSync("node", ["scripts/set-owner.mjs", "--check"], { cwd: root, stdio: "ignore" });
    if (isOpen) expect(check).toThrow();
    else check();
  });
});
