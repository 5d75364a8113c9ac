/** Reads the JSON body of an action, limited in size. */
import type { IncomingMessage } from "node:http";

const MAX_BYTES = 1024 * 1024;

/** An invalid request, with its HTTP status. */
export class BadRequest extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** @throws BadRequest */
export async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const [type = ""] = (request.headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/json") throw new BadRequest(415, "The body must be JSON");
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
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new BadRequest(400, "The body is not an object");
  return body as Record<string, unknown>;
}

const tooLarge = () => new BadRequest(413, "The body is too large");
