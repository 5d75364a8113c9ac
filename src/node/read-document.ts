/** Reads a configuration file: a regular file of limited size with UTF-8 text, in JSON or TOML. */
import { type FileHandle, open, stat } from "node:fs/promises";
import { extname } from "node:path";
import { type ConfigDocument, parseJsonConfig, unreadable } from "../config/parse-json-config.js";
import { ConfigError } from "../errors/toolport-error.js";

/** Larger than any realistic file, even if a program stores other settings in it. */
const MAX_CONFIG_BYTES = 8 * 1024 * 1024;

/** Reads to the end and checks the limit, because the size from `stat` may be wrong. */
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
  unreadable(file, `it is larger than ${MAX_CONFIG_BYTES} bytes; move other content elsewhere`);

/** @throws ConfigError with code `UNREADABLE_CONFIG` */
async function readConfigText(file: string): Promise<string> {
  let handle: FileHandle | undefined;
  try {
    // Check before opening: opening a named pipe would wait for a writer.
    const found = await stat(file);
    if (!found.isFile()) throw unreadable(file, "it is not a file");
    if (found.size > MAX_CONFIG_BYTES) throw tooLarge(file);
    handle = await open(file, "r");
    // Removes the byte order mark and rejects invalid UTF-8.
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

/** @throws ConfigError with code `UNREADABLE_CONFIG`, the file and, if known, the line */
export async function readDocument(file: string): Promise<ConfigDocument> {
  const text = await readConfigText(file);
  if (extname(file).toLowerCase() !== ".toml") return parseJsonConfig(file, text);
  // The TOML parser is loaded only if needed.
  const { parseTomlConfig } = await import("./parse-toml-config.js");
  return parseTomlConfig(file, text);
}
