/** Bytes of one line to text, in the encoding the server writes. */
import { ConfigError } from "../../errors/config-error.js";

export type LineDecoder = (buffer: Buffer, start: number, end: number) => string;

/** Encodings that Node's buffers decode by themselves, faster than a `TextDecoder`. */
const NATIVE: Readonly<Record<string, BufferEncoding>> = {
  utf8: "utf8",
  "utf-8": "utf8",
  latin1: "latin1",
  binary: "latin1",
  ascii: "ascii",
};

/**
 * A decoder for `encoding`: `utf8`, `latin1`, `ascii`, or a label that `TextDecoder` knows (`windows-1251`, `shift_jis`).
 * Lines are found by the byte 0x0A before they are decoded, which rules out UTF-16 and stateful encodings.
 */
export function createLineDecoder(encoding: string, server: string): LineDecoder {
  const native = NATIVE[encoding.toLowerCase()];
  if (native !== undefined) return (buffer, start, end) => buffer.toString(native, start, end);
  const decoder = createTextDecoder(encoding);
  if (decoder === undefined || decoder.encoding.startsWith("utf-16") || decoder.encoding === "iso-2022-jp") {
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: "The encoding of the server's output cannot be used",
      next: 'Use "utf8", which is what MCP servers write, or another encoding in which a newline is one byte',
      server,
      issues: [{ path: `mcpServers.${server}.encoding`, message: `"${encoding}" is not supported` }],
    });
  }
  return (buffer, start, end) => decoder.decode(buffer.subarray(start, end));
}

function createTextDecoder(label: string): InstanceType<typeof TextDecoder> | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}
