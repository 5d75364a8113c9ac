/** The files of the page, read once when the console starts: what is not among them is not served. */
import { readFile } from "node:fs/promises";

export interface PageFile {
  readonly body: Buffer;
  readonly type: string;
}

const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/app.js": ["app.js", "text/javascript; charset=utf-8"],
  "/style.css": ["style.css", "text/css; charset=utf-8"],
  "/icon.svg": ["icon.svg", "image/svg+xml"],
};

/** Where the build puts them. */
const BUILT = new URL("./page/", import.meta.url);

/** By path. */
export async function readPageFiles(folder: URL = BUILT): Promise<ReadonlyMap<string, PageFile>> {
  const entries = Object.entries(FILES).map(
    async ([path, [file, type]]) => [path, { body: await readFile(new URL(file, folder)), type }] as const,
  );
  return new Map(await Promise.all(entries));
}
