/** The conformance server and gateways before it, as processes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll } from "vitest";
import { useServer } from "../../../test/support/use-server.js";

const fixture = (name: string) => fileURLToPath(new URL(`./fixture/${name}`, import.meta.url));

/** The eras that a gateway can speak with the conformance server. */
export const UPSTREAMS = ["legacy", "modern"] as const;
export type UpstreamEra = (typeof UPSTREAMS)[number];
const PROTOCOLS = { legacy: "legacy", modern: { pin: "2026-07-28" } };

export interface HttpProcess extends AsyncDisposable {
  readonly url: string;
}

/** A program that prints its port first and ends with its standard input. */
async function start(args: readonly string[]): Promise<HttpProcess> {
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit") as Promise<[number]>;
  const failed = exited.then(([code]) => {
    throw new Error(`${args[0]} ended with code ${code} before it was ready`);
  });
  const [line] = (await Promise.race([once(child.stdout, "data"), failed])) as [Buffer];
  failed.catch(() => {});
  const { port } = JSON.parse(String(line)) as { port: number };
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exited;
    },
  };
}

const startConformanceServer = (): Promise<HttpProcess> => start([fixture("conformance-server.mjs")]);

/** The arguments of `node` for a gateway with one upstream, whose names have no prefix. */
export function gatewayArguments(upstream: string, era: UpstreamEra, transport: "http" | "stdio"): string[] {
  const servers = { conformance: { url: upstream, protocol: PROTOCOLS[era] } };
  return [fixture("gateway.mjs"), JSON.stringify({ servers, transport })];
}

const startGateway = (upstream: string, era: UpstreamEra): Promise<HttpProcess> =>
  start(gatewayArguments(upstream, era, "http"));

/** The conformance server, and a gateway before it for each era, for all tests of a file. */
export function useGateways(): { server: HttpProcess; gateways: ReadonlyMap<UpstreamEra, HttpProcess> } {
  const server = useServer(startConformanceServer);
  const gateways = new Map<UpstreamEra, HttpProcess>();
  beforeAll(async () => {
    for (const era of UPSTREAMS) gateways.set(era, await startGateway(server.url, era));
  });
  afterAll(async () => {
    for (const gateway of gateways.values()) await gateway[Symbol.asyncDispose]();
  });
  return { server, gateways };
}
