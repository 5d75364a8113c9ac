/** Bundles the console's page into `dist/console/page/`: four files, reproducible, without external resources. */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const source = join(root, "packages/console/src/page");
const COPIED = ["index.html", "icon.svg"];
/** Limits of all files together: as sent to browsers, which accept gzip, and unpacked. */
const MAX_PACKED_BYTES = 40_000;
const MAX_BYTES = 110_000;

/** Removes white space in template strings with markup, which the minifier leaves and which has no meaning there. */
const withoutIndents = {
  name: "without-indents",
  enforce: "pre",
  transform: (code, id) =>
    id.startsWith(source) && id.endsWith(".ts")
      ? code.replace(/\n\s+/g, "\n").replace(/(?<=[>}])\n(?=<|\$\{)/g, "")
      : null,
};

/** Builds into `folder` and returns the size of every file in bytes. */
export async function buildConsole(folder = join(root, "packages/toolport/dist/console/page")) {
  const result = await build({
    configFile: false,
    envDir: false,
    plugins: [withoutIndents],
    root: source,
    logLevel: "warn",
    build: {
      write: false,
      target: "es2022",
      modulePreload: false,
      rolldownOptions: {
        input: join(source, "app.ts"),
        output: { entryFileNames: "app.js", assetFileNames: "style[extname]", codeSplitting: false },
      },
    },
  });
  const [bundle] = [result].flat();
  const files = new Map(
    bundle.output.map((file) => [
      file.fileName,
      Buffer.from(file.type === "chunk" ? file.code : file.source),
    ]),
  );
  for (const name of COPIED) files.set(name, await readFile(join(source, name)));
  const sizes = Object.fromEntries([...files].map(([name, content]) => [name, content.length]));
  const total = Object.values(sizes).reduce((sum, size) => sum + size, 0);
  const packed = [...files.values()].reduce((sum, content) => sum + gzipSync(content).length, 0);
  if (packed > MAX_PACKED_BYTES)
    throw new Error(`The console's page weighs ${packed} bytes packed, more than ${MAX_PACKED_BYTES}`);
  if (total > MAX_BYTES) throw new Error(`The console's page weighs ${total} bytes, more than ${MAX_BYTES}`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await Promise.all([...files].map(([name, content]) => writeFile(join(folder, name), content)));
  return { ...sizes, total, packed };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const sizes = await buildConsole();
  if (process.argv.includes("--sizes")) console.log(sizes);
}
