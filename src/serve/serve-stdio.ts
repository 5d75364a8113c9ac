/** Serves one client over standard input and output, one message a line. */
import { readMessages, weigh } from "./message.js";
import { MessageConnection } from "./message-connection.js";
import type { GatewayParts } from "./request-context.js";

interface StdioOptions {
  readonly connections: Set<{ close(drainMs: number): Promise<void> }>;
  /** Requests that were sent before the end of the input may still be answered, as in `printf … | toolport serve`. */
  readonly drainMs: number;
  readonly input?: NodeJS.ReadableStream;
  readonly output?: NodeJS.WritableStream;
}

const MAX_LINE = 64 * 1024 * 1024;

/** Resolves when the input has ended or the gateway is closed. */
export async function serveStdio(
  parts: GatewayParts,
  { connections, drainMs, input = process.stdin, output = process.stdout }: StdioOptions,
): Promise<void> {
  const connection = new MessageConnection(parts, undefined, (text) => void output.write(`${text}\n`));
  let settle!: () => void;
  const over = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const member = {
    async close(limitMs: number) {
      await connection.drain(limitMs);
      settle();
    },
  };
  connections.add(member);
  let rest = "";
  const onData = (chunk: Buffer | string) => {
    rest += chunk.toString();
    for (let end = rest.indexOf("\n"); end !== -1; end = rest.indexOf("\n")) {
      const line = rest.slice(0, end).trim();
      rest = rest.slice(end + 1);
      if (line !== "") receive(connection, line);
    }
    if (rest.length > MAX_LINE) settle();
  };
  if ("setEncoding" in input) input.setEncoding("utf8");
  input.on("data", onData);
  const onEnd = () => void connection.drain(drainMs).then(settle);
  input.on("end", onEnd);
  input.on("close", onEnd);
  output.on("error", settle);
  await over;
  input.off("data", onData);
  connections.delete(member);
  connection.close();
}

function receive(connection: MessageConnection, line: string): void {
  try {
    weigh(line);
    for (const message of readMessages(line).messages) void connection.receive(message);
  } catch (error) {
    connection.refuse(error);
  }
}
