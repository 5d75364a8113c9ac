/** Verifies the hash of a downloaded bundle. */
import { ConfigError } from "../errors/config-error.js";
import { ConnectionError } from "../errors/connection-error.js";

/** Proof that a file was verified; only {@link verifyMcpb} creates it. */
export class VerifiedMcpb {
  readonly #sha256: string;

  /** @internal */
  constructor(sha256: string) {
    this.#sha256 = sha256;
    Object.freeze(this);
  }

  /** SHA-256 of the file, in hexadecimal. */
  get sha256(): string {
    return this.#sha256;
  }

  /** False for objects with the same fields. */
  static isInstance(value: unknown): value is VerifiedMcpb {
    return typeof value === "object" && value !== null && #sha256 in value;
  }
}

/** The bytes of a file, complete or as a stream. */
export type McpbData = Uint8Array | ArrayBuffer | AsyncIterable<Uint8Array>;

const MAX_BYTES = 512 * 1024 * 1024;

async function collect(data: McpbData, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  // Copy, so that the data cannot change while it is verified.
  if (data instanceof Uint8Array) return new Uint8Array(data);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of data) {
    size += chunk.byteLength;
    if (size > maxBytes) {
      throw new ConnectionError({
        code: "MESSAGE_TOO_LARGE",
        what: `The bundle is larger than ${maxBytes} bytes`,
        next: "Raise `maxBytes` to allow that",
      });
    }
    chunks.push(chunk);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

/**
 * Compares the SHA-256 of a bundle with the one in its registry entry. Downloads nothing: you download the file, with the
 * user's consent, and verify it before you unpack it.
 *
 * @throws ConfigError with code `INVALID_CONFIG` if the hash does not match.
 * @example
 * ```ts
 * const verified = await verifyMcpb(await readFile("weather.mcpb"), fileSha256);
 * ```
 */
export async function verifyMcpb(
  data: McpbData,
  sha256: string,
  { maxBytes = MAX_BYTES }: { maxBytes?: number } = {},
): Promise<VerifiedMcpb> {
  const expected = sha256.trim().toLowerCase();
  if (!/^[a-f0-9]{64}$/.test(expected))
    throw invalidHash("The registry entry has no valid SHA-256 of the bundle");
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await collect(data, maxBytes)));
  const actual = [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  if (actual !== expected)
    throw invalidHash(`The bundle is not the file of the registry entry: its SHA-256 is ${actual}`);
  return new VerifiedMcpb(actual);
}

const invalidHash = (what: string): ConfigError =>
  new ConfigError({
    code: "INVALID_CONFIG",
    what,
    next: "Do not unpack or run it; download it again from its publisher",
    issues: [{ path: "fileSha256", message: "does not match" }],
  });
