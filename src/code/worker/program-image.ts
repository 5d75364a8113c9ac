/** The image of a waiting program: the memory of its VM and what the worker knows about it, compressed. */
import { gunzipSync, gzipSync } from "node:zlib";
import type { Snapshot } from "quickjs-wasi";

/** Stored in an image beside the memory of the VM. */
export interface ImageHeader {
  readonly api: number;
  readonly main: number;
  readonly pending: readonly number[];
  readonly outputLeft: number;
  readonly outputMissing: number;
  readonly isTypeScript: boolean;
  /** Where the engine goes on. */
  readonly engine: Omit<Snapshot, "memory">;
}

export function writeImage(
  header: Omit<ImageHeader, "engine">,
  { memory, ...engine }: Snapshot,
): Uint8Array<ArrayBuffer> {
  const text = Buffer.from(JSON.stringify({ ...header, engine } satisfies ImageHeader));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  // The fastest level: most of the memory is empty. In two parts, so that the memory is not copied once more.
  const parts = [Buffer.concat([length, text]), memory].map((part) => gzipSync(part, { level: 1 }));
  return new Uint8Array(Buffer.concat(parts));
}

export function readImage(image: Uint8Array): { header: ImageHeader; snapshot: Snapshot } {
  const bytes = gunzipSync(image);
  const end = 4 + bytes.readUInt32LE(0);
  const header = JSON.parse(bytes.toString("utf8", 4, end)) as ImageHeader;
  return { header, snapshot: { ...header.engine, memory: bytes.subarray(end) } };
}
