/** Reads the small files that an entry names, each once: what was compared for consent is what is used. */
import { readFile, stat } from "node:fs/promises";
import type { Found } from "./expand-variables.js";

/** A secret or a list of variables; nothing that is read into a text is longer. */
const MAX_FILE_BYTES = 256 * 1024;

/** Returns the content of a file by its absolute path, or why it cannot be used. */
export function createFileReader(): (path: string) => Promise<Found> {
  const known = new Map<string, Promise<Found>>();
  return (path) => {
    const content = known.get(path) ?? readSmallFile(path);
    known.set(path, content);
    return content;
  };
}

async function readSmallFile(path: string): Promise<Found> {
  try {
    const found = await stat(path);
    if (!found.isFile()) return { problem: "names something that is not a file" };
    if (found.size > MAX_FILE_BYTES) return { problem: `names a file of more than ${MAX_FILE_BYTES} bytes` };
    return { value: (await readFile(path, "utf8")).replace(/^\uFEFF/, "") };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === "ENOENT" ? "does not exist" : `cannot be read (${code ?? "unknown reason"})`;
    return { problem: `names a file that ${reason}; correct the path` };
  }
}
