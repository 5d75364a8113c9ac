/** The JSON body of an action, of a size that an action has. */
import type { IncomingMessage } from "node:http";

const MAX_BYTES = 1024 * 1024;

/** A request that cannot be an action: its status says why. */
export class BadRequest extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Reads it. @throws BadRequest */
export async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const [type = ""] = (request.headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/json") throw new BadRequest(415, "Only JSON is taken");
  if (Number(request.headers["content-length"] ?? 0) > MAX_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  let body: unknown;
  try {
    body = JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}");
  } catch {
    throw new BadRequest(400, "The body is not JSON");
  }
  // Several requests in one would be a batch.
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new BadRequest(400, "The body is not one object");
  return body as Record<string, unknown>;
}

const tooLarge = () => new BadRequest(413, "The body is too large");
