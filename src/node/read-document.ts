/** Reads the text of a configuration file: only from a plain file, only so much, only UTF-8. */
import { type FileHandle, open, stat } from "node:fs/promises";
import { extname } from "node:path";
import { ConfigError } from "../errors/config-error.js";
import { type ConfigDocument, unreadable } from "./config-document.js";
import { parseJsonConfig } from "./parse-json-config.js";

/** Some programs keep more than servers in their file, but no list of servers is as long as this. */
const MAX_CONFIG_BYTES = 8 * 1024 * 1024;

/** Reads to the end, whatever the size was said to be: a file may grow, and some have no size. */
async function readCapped(handle: FileHandle, file: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(64 * 1024), position: null });
    if (bytesRead === 0) return Buffer.concat(chunks, length);
    chunks.push(buffer.subarray(0, bytesRead));
    length += bytesRead;
    if (length > MAX_CONFIG_BYTES) throw tooLarge(file);
  }
}

const tooLarge = (file: string): ConfigError =>
  unreadable(file, `it is larger than ${MAX_CONFIG_BYTES} bytes; keep only servers in it`);

/** @throws ConfigError with code `UNREADABLE_CONFIG` */
async function readConfigText(file: string): Promise<string> {
  let handle: FileHandle | undefined;
  try {
    // Looked at before it is opened: opening a named pipe waits for somebody to write to it.
    const found = await stat(file);
    if (!found.isFile()) throw unreadable(file, "it is not a file");
    if (found.size > MAX_CONFIG_BYTES) throw tooLarge(file);
    handle = await open(file, "r");
    // Takes the byte order mark away, and does not guess at what is not UTF-8.
    return new TextDecoder("utf-8", { fatal: true }).decode(await readCapped(handle, file));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw unreadable(file, "there is no such file", { cause: error });
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") {
      throw unreadable(file, "it is not UTF-8 text; save it as UTF-8");
    }
    throw unreadable(file, `it could not be opened (${code ?? "unknown reason"})`, { cause: error });
  } finally {
    await handle?.close();
  }
}

/** @throws ConfigError with code `UNREADABLE_CONFIG`, the file and, where there is one, the line */
export async function readDocument(file: string): Promise<ConfigDocument> {
  const text = await readConfigText(file);
  if (extname(file).toLowerCase() !== ".toml") return parseJsonConfig(file, text);
  // Loaded only for those who have such a file.
  const { parseTomlConfig } = await import("./parse-toml-config.js");
  return parseTomlConfig(file, text);
}
