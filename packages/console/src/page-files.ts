/** Reads the files of the page once, when the console starts. No other files are served. */
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

export interface PageFile {
  readonly body: Buffer;
  readonly type: string;
  readonly packed: Buffer;
}

const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/app.js": ["app.js", "text/javascript; charset=utf-8"],
  "/style.css": ["style.css", "text/css; charset=utf-8"],
  "/icon.svg": ["icon.svg", "image/svg+xml"],
};

/** Output directory of the build. */
const BUILT = new URL("./page/", import.meta.url);

/** Returns the files by URL path. */
export async function readPageFiles(folder: URL = BUILT): Promise<ReadonlyMap<string, PageFile>> {
  const entries = Object.entries(FILES).map(async ([path, [file, type]]) => {
    const body = await readFile(new URL(file, folder));
    return [path, { body, type, packed: gzipSync(body) }] as const;
  });
  return new Map(await Promise.all(entries));
}
