/** The root entry point, the registry and the schemas must load without Node: walks the built files like a bundler. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GraphOptions, type ReachedModule, walkModules } from "./module-graph.js";
import { dist, root } from "./source-files.js";

const entry = join(dist, "index.js");
const FORMATS = ["index.js", "index.cjs"];
/** Other entry points that Workers and browsers load. */
const OTHERS = ["registry/index.js", "schemas/index.js"];
/** Too heavy to load before the first connection: only a dynamic import may reach them. */
const HEAVY = [
  "@modelcontextprotocol/",
  "@cfworker/",
  "cross-spawn",
  "ipaddr.js",
  "re2js",
  "undici",
  "ws",
  "zod",
];

const describeChain = (base: string) => (module: ReachedModule) =>
  module.chain.map((id) => (id.startsWith(base) ? relative(base, id) : id)).join(" → ");

function unwelcome(from: string, base: string, options: GraphOptions): string[] {
  return walkModules(from, options)
    .filter(({ kind }) => kind !== "file")
    .map(describeChain(base));
}

describe("toolport's root entry point", () => {
  beforeAll(() => {
    if (!existsSync(entry)) throw new Error("dist/index.js is missing. Run `npm run build` first.");
  });

  // Bundlers use the `browser` field for Workers too, and most set more conditions than `workerd`.
  const runtimes: [string, string[]][] = [
    ["workerd", ["workerd"]],
    ["workerd as wrangler sets them", ["workerd", "worker", "browser"]],
    ["browser", ["browser"]],
  ];
  it.each(
    [...FORMATS, ...OTHERS].flatMap((file) =>
      runtimes.map(([name, conditions]) => [file, name, conditions] as const),
    ),
  )("reaches no Node module from %s under the conditions of %s", (file, _name, conditions) => {
    const reached = walkModules(join(dist, file), { conditions, browserField: true });
    expect(reached.length).toBeGreaterThan(10);
    // A dependency of the SDK has no files for `workerd` without `browser`: not found, but not a Node module either.
    const forbidden = reached.filter(
      ({ kind }) => kind === "builtin" || (kind === "missing" && conditions.includes("browser")),
    );
    expect(forbidden.map(describeChain(root))).toEqual([]);
  });

  it.each(FORMATS)("reaches Node modules from %s under Node, so the walk finds them", (file) => {
    const reached = walkModules(join(dist, file), { conditions: ["node"] });
    expect(reached.some(({ kind }) => kind === "builtin")).toBe(true);
  });

  it("loads nothing heavy before the first connection", () => {
    const reached = walkModules(entry, { conditions: ["node"], staticOnly: true, skip: ["#platform"] });
    const heavy = reached.filter(({ id }) =>
      HEAVY.some((name) => id.includes(`/node_modules/${name}${name.endsWith("/") ? "" : "/"}`)),
    );
    expect(heavy.map(describeChain(root))).toEqual([]);
  });
});

describe("the walk", () => {
  const base = mkdtempSync(join(tmpdir(), "module-graph-"));
  const write = (file: string, text: string) => {
    const path = join(base, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  beforeAll(() => {
    write(
      "package.json",
      JSON.stringify({
        type: "module",
        main: "index.js",
        imports: { "#private": { browser: "./web.js", default: "./node.js" } },
      }),
    );
    write("index.js", 'import "#private";\nexport * from "./lazy.js";');
    write("lazy.js", 'export const load = () => import("kit/part");');
    write("web.js", 'import "old";');
    write("node.js", 'import "node:fs";');
    write(
      "node_modules/kit/package.json",
      JSON.stringify({ exports: { "./*": { workerd: "./worker/*.js", default: "./plain/*.js" } } }),
    );
    write("node_modules/kit/worker/part.js", "export {};");
    write("node_modules/kit/plain/part.js", 'import "path";');
    write(
      "node_modules/old/package.json",
      JSON.stringify({ main: "./main.js", browser: { "./tty.js": false, "./main.js": "./slim.js" } }),
    );
    write("node_modules/old/main.js", 'require("net");');
    write("node_modules/old/slim.js", 'require("./tty"); require("not-installed");');
    write("node_modules/old/tty.js", 'require("tty");');
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  const from = join(base, "index.js");

  it("names the chain to a builtin, through a private import and a lazy import", () => {
    const chains = unwelcome(from, base, { conditions: ["node"] });
    expect(chains).toEqual([
      "index.js → node.js → node:fs",
      "index.js → lazy.js → node_modules/kit/plain/part.js → path",
    ]);
  });

  it("omits lazy imports and skipped imports on request", () => {
    expect(unwelcome(from, base, { conditions: ["node"], staticOnly: true, skip: ["#private"] })).toEqual([]);
  });

  it("uses the conditions and the browser field", () => {
    const chains = unwelcome(from, base, { conditions: ["workerd", "browser"], browserField: true });
    expect(chains).toEqual(["index.js → web.js → node_modules/old/slim.js → not-installed"]);
  });
});
