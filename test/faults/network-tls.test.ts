/** Untrusted certificates, and an environment that disables certificate checks. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { ConnectionError, ServerEntry } from "toolport";
import { afterAll, beforeAll, expect } from "vitest";
import { startFaultServer } from "../fixtures/servers/fault-http.js";
import { startFaultWebSocket } from "../fixtures/servers/fault-websocket.js";
import { type Certificates, hasOpenssl, makeCertificates } from "../support/certificates.js";
import { startTlsFront } from "../support/tls-front.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";

/** The catalogue says 2 s; a busy machine gets three times that. */
const BOUND_MS = 6_000;
const HOST = fileURLToPath(new URL("../fixtures/hosts/tls-host.mjs", import.meta.url));
const BUILT = fileURLToPath(new URL("../../packages/toolport/dist/index.js", import.meta.url));

const missing = hasOpenssl() ? undefined : "openssl is not installed";
const unbuilt = existsSync(BUILT) ? undefined : "the package is not built";

let certificates: Certificates;
const folder = mkdtempSync(join(tmpdir(), "certificates-"));
beforeAll(() => {
  if (missing === undefined) certificates = makeCertificates(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Kind = "http" | "sse" | "websocket";
type Fault = Exclude<keyof Certificates, "authorityFile">;

const KINDS: readonly Kind[] = ["http", "sse", "websocket"];

/** A server behind TLS with this certificate, and the bytes that reached it. */
async function behind(harness: FaultHarness, kind: Kind, fault: Fault) {
  const server =
    kind === "websocket"
      ? harness.keep(await startFaultWebSocket(() => {}))
      : harness.keep(await startFaultServer());
  const { port } = new URL(server.entry.url);
  const front = harness.keep(await startTlsFront(certificates[fault], Number(port)));
  const entries: Record<Kind, ServerEntry> = {
    http: { url: `https://127.0.0.1:${front.port}/mcp` },
    sse: { transport: "sse", url: `https://127.0.0.1:${front.port}/sse` },
    websocket: { transport: "websocket", url: `wss://127.0.0.1:${front.port}/ws` },
  };
  return { entry: { ...entries[kind], headers: { "x-key": harness.secret() } }, front };
}

for (const kind of KINDS) {
  for (const [fault, errnos] of [
    ["expired", ["CERT_HAS_EXPIRED", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"]],
    ["selfSigned", ["DEPTH_ZERO_SELF_SIGNED_CERT"]],
    ["good", ["UNABLE_TO_VERIFY_LEAF_SIGNATURE"]],
  ] as const) {
    for (const optOut of [undefined, "0"]) {
      const named = fault === "good" ? "signed by an unknown authority" : fault;
      const when = optOut === undefined ? "" : ", NODE_TLS_REJECT_UNAUTHORIZED=0";
      faultCase(
        "N15",
        `${named} over ${kind}${when}`,
        async (harness) => {
          const { entry, front } = await behind(harness, kind, fault);
          if (optOut !== undefined) {
            process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = optOut;
            harness.atEnd(() => delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"]);
          }
          const toolport = harness.open({ it: entry });
          const error = await harness.fails<ConnectionError>(toolport.callTool("it__fine"), {
            code: "UNREACHABLE",
            server: "it",
            withinMs: BOUND_MS,
          });
          expect(errnos).toContain(error.errno);
          expect(error).toMatchObject({ retryable: false, outcome: "unsent" });
          expect(error.message).toContain("ertificate");
          expect(front.bytes).toBe(0);
        },
        { skip: missing },
      );
    }
  }
}

interface Outcome {
  readonly text?: string;
  readonly code?: string;
  readonly errno?: string;
  readonly retryable?: boolean;
  readonly message?: string;
}

for (const [what, environment] of [
  ["trusted authority", {}],
  ["trusted authority, NODE_TLS_REJECT_UNAUTHORIZED=0", { NODE_TLS_REJECT_UNAUTHORIZED: "0" }],
] as const) {
  faultCase(
    "N15",
    `${what}: wrong host and expired are refused, a valid one is accepted`,
    async (harness) => {
      const servers: Record<string, ServerEntry> = {};
      for (const kind of ["http", "websocket"] as const) {
        for (const fault of ["good", "otherHost", "expired"] as const)
          servers[`${fault}-${kind}`] = (await behind(harness, kind, fault)).entry;
      }
      const env = {
        ...process.env,
        NODE_EXTRA_CA_CERTS: certificates.authorityFile,
        NODE_NO_WARNINGS: "1",
        ...environment,
      };
      const { stdout } = await promisify(execFile)(process.execPath, [HOST, JSON.stringify(servers)], {
        env,
      });
      harness.note(stdout);
      const outcomes = JSON.parse(stdout) as Record<string, Outcome>;
      for (const kind of ["http", "websocket"]) {
        expect(outcomes[`good-${kind}`]).toEqual({ text: "fine" });
        const refused = { code: "UNREACHABLE", retryable: false };
        expect(outcomes[`otherHost-${kind}`]).toMatchObject({
          ...refused,
          errno: "ERR_TLS_CERT_ALTNAME_INVALID",
        });
        expect(outcomes[`expired-${kind}`]).toMatchObject({ ...refused, errno: "CERT_HAS_EXPIRED" });
      }
    },
    { skip: missing ?? unbuilt },
  );
}
