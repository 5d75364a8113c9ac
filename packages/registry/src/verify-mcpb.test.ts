/** A bundle is used only if its hash matches the registry entry. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { VerifiedMcpb, verifyMcpb } from "./start-command.js";
import { toServerConfig } from "./to-server-config.js";

const bytes = new TextEncoder().encode("a bundle");
/** The syntax of variables in manifests. */
const ref = (name: string): string => `\${${name}}`;
const sha256 = createHash("sha256").update(bytes).digest("hex");

async function* inPieces(size = 3): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe("verifyMcpb", () => {
  it.each([
    ["bytes", () => bytes],
    ["a buffer", () => bytes.slice().buffer],
    ["pieces", () => inPieces()],
    ["a stream", () => new Blob([bytes]).stream() as unknown as AsyncIterable<Uint8Array>],
  ])("takes %s", async (_kind, data) => {
    expect((await verifyMcpb(data(), sha256.toUpperCase())).sha256).toBe(sha256);
  });

  it.each([sha256.replace(/^./, (digit) => (digit === "0" ? "1" : "0")), "", "abc", `${sha256}00`])(
    "rejects a bundle whose hash is not %j",
    async (expected) => {
      await expect(verifyMcpb(bytes, expected)).rejects.toMatchObject({
        name: "ConfigError",
        code: "INVALID_CONFIG",
      });
    },
  );

  it("limits the size", async () => {
    await expect(verifyMcpb(inPieces(), sha256, { maxBytes: 5 })).rejects.toMatchObject({
      code: "MESSAGE_TOO_LARGE",
    });
  });
});

describe("a bundle", () => {
  const server = (parts: object = {}) => ({
    name: "io.example/notes",
    version: "1.0.0",
    packages: [
      {
        registryType: "mcpb",
        identifier: "https://example.com/notes.mcpb",
        fileSha256: sha256,
        transport: { type: "stdio" },
        environmentVariables: [{ name: "LOG", default: "info" }],
        ...parts,
      },
    ],
  });
  const manifest = {
    server: {
      type: "node",
      mcp_config: {
        command: "node",
        args: [
          `${ref("__dirname")}/server.js`,
          ref("user_config.folders"),
          `--level=${ref("user_config.level")}`,
          ref("HOME"),
        ],
        env: { TOKEN: ref("user_config.token") },
        platform_overrides: { [process.platform]: { command: `${ref("__dirname")}/node` } },
      },
    },
    user_config: {
      folders: { type: "directory", multiple: true, required: true, title: "Folders" },
      level: { type: "number", default: 3 },
      token: { type: "string", sensitive: true },
    },
  };
  const directory = "/srv/notes";

  it("is started as its manifest says after verification", async () => {
    const bundle = { verified: await verifyMcpb(bytes, sha256), directory, manifest };
    expect(toServerConfig(server(), { bundle }).missing).toMatchObject([
      { name: "folders", description: "Folders" },
    ]);
    const inputs = { folders: ["/a", "/b"], token: "t" };
    const { entry, warnings, inputs: known } = toServerConfig(server(), { bundle, inputs });
    expect(entry).toEqual({
      command: "/srv/notes/node",
      args: ["/srv/notes/server.js", "/a", "/b", "--level=3", ref("HOME")],
      env: { TOKEN: "t", LOG: "info" },
      cwd: directory,
    });
    expect(known.find(({ name }) => name === "token")).toMatchObject({
      isSecret: true,
      where: "environment",
    });
    expect(warnings.join("\n")).toContain(`${ref("HOME")}, which is not expanded`);
  });

  it("is rejected without verification, or with another file", async () => {
    const verified = await verifyMcpb(bytes, sha256);
    const reasonOf = (bundle: unknown, parts?: object) => {
      const { entry, reason } = toServerConfig(server(parts), {
        bundle: bundle as never,
        inputs: { folders: "/a" },
      });
      expect(entry).toBeUndefined();
      return reason;
    };
    expect(reasonOf({ verified: { sha256 }, directory, manifest })).toContain("was not verified");
    const lookAlike = Object.create(VerifiedMcpb.prototype);
    expect(reasonOf({ verified: lookAlike, directory, manifest })).toContain("was not verified");
    expect(reasonOf({ verified, directory, manifest }, { fileSha256: "0".repeat(64) })).toContain(
      "is not the file of the entry",
    );
    expect(reasonOf({ verified, directory, manifest }, { fileSha256: undefined })).toContain("no SHA-256");
    for (const broken of [undefined, 1, {}, { server: {} }, { server: { mcp_config: {} } }]) {
      expect(reasonOf({ verified, directory, manifest: broken })).toContain("has no start command");
    }
  });
});
