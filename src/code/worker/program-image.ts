/** The image of a waiting program: the memory of its VM and what the worker knows about it, compressed. */
import { gunzipSync, gzipSync } from "node:zlib";

/** Stored in an image beside the memory of the VM. */
export interface ImageHeader {
  readonly api: number;
  readonly main: number;
  readonly pending: readonly number[];
  readonly outputLeft: number;
  readonly outputMissing: number;
  readonly isTypeScript: boolean;
}

export function writeImage(header: ImageHeader, snapshot: Uint8Array): Uint8Array<ArrayBuffer> {
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  // The fastest level: most of the memory is empty.
  return new Uint8Array(gzipSync(Buffer.concat([length, text, snapshot]), { level: 1 }));
}

export function readImage(image: Uint8Array): { header: ImageHeader; snapshot: Uint8Array } {
  const bytes = gunzipSync(image);
  const end = 4 + bytes.readUInt32LE(0);
  return { header: JSON.parse(bytes.toString("utf8", 4, end)) as ImageHeader, snapshot: bytes.subarray(end) };
}
