/** Lets the SDK's own client use all servers through the gateway, while one of them is killed. */
import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Client } from "@modelcontextprotocol/client";
import type { Toolport } from "../../index.js";
import { createGateway } from "../../serve/index.js";
import { CALLS } from "./call-tools.js";
import { whenLost } from "./heal.js";
import { check, type StepOutcome } from "./step-runner.js";

/** Calls to other servers that run while one server is killed. */
const OTHERS = [CALLS.units, CALLS.calendar, CALLS.relay];
const MIN_CALLS = 30;

/** Adds every process id to `pids`, for the check at the end. */
export async function serveForeignClient(toolport: Toolport, pids: Set<number>): Promise<StepOutcome> {
  const token = randomBytes(32).toString("base64url");
  const gateway = createGateway(toolport, { auth: { token } });
  const server = createServer((request, response) => gateway.node(request, response));
  try {
    const client = await connect(await listen(server), token);
    try {
      return await callWhileKilling(toolport, client, pids);
    } finally {
      await client.close();
    }
  } finally {
    await gateway.close({ drainMs: 1_000 });
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  }
}

async function callWhileKilling(toolport: Toolport, client: Client, pids: Set<number>): Promise<StepOutcome> {
  const { tools } = await client.listTools();
  const processId = async () => {
    const pid = Number(await call(client, { name: "notes__process_id", args: {} }));
    pids.add(pid);
    return pid;
  };
  const first = await processId();
  let isHealed = false;
  let [made, failed] = [0, 0];
  const others = OTHERS.map(async (wanted) => {
    while (!isHealed || made < MIN_CALLS) {
      const text = await call(client, wanted).catch(String);
      made += 1;
      if (text !== wanted.answer) failed += 1;
    }
  });
  const lost = whenLost(toolport, "notes");
  process.kill(first, "SIGKILL");
  await lost;
  const startedAt = performance.now();
  const second = await processId().finally(() => {
    isHealed = true;
  });
  const ms = Math.round(performance.now() - startedAt);
  await Promise.all(others);
  check(second !== first, "the same process responded");
  check(failed === 0, `${failed} of ${made} calls to other servers failed`);
  return {
    details: [
      `the SDK's client lists ${tools.length} tools at one address`,
      `process ${first} was killed, process ${second} responded to the same client after ${ms} ms`,
      `meanwhile ${made} calls to other servers, ${failed} of them failed`,
    ],
  };
}

async function call(
  client: Client,
  { name, args }: { name: string; args: Readonly<Record<string, unknown>> },
): Promise<string> {
  const { content } = (await client.callTool({ name, arguments: { ...args } })) as {
    content: readonly { readonly text?: string }[];
  };
  return content.map(({ text = "" }) => text).join("");
}

async function connect(url: URL, token: string): Promise<Client> {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const client = new Client({ name: "foreign-client", version: "1.0.0" });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  return client;
}

async function listen(server: Server): Promise<URL> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
}
