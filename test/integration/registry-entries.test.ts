/** Every example of the registry's documentation becomes a usable entry, or reports the missing inputs. */
import { describe, expect, it } from "vitest";
import { parseServerEntry } from "../../packages/core/src/config/parse-servers.js";
import { verifyMcpb } from "../../packages/registry/src/start-command.js";
import { type ToServerConfigOptions, toServerConfig } from "../../packages/registry/src/to-server-config.js";
import { exampleServers, seedServers } from "../support/registry-server.js";

const example = (number: string) => {
  const found = [...exampleServers].find(([file]) => file.startsWith(number));
  if (found === undefined) throw new Error(`There is no example ${number}`);
  return found[1];
};
const namesOf = (inputs: readonly { name: string }[]) => inputs.map(({ name }) => name);
const mirror = "--registry=https://npm.registry.example/";
const brave = "@modelcontextprotocol/server-brave-search@1.0.2";

/** The missing inputs; inputs that complete it; the resulting entry. */
const EXPECTED: Readonly<Record<string, [missing: string[], options: ToServerConfigOptions, entry: object]>> =
  {
    "01": [
      ["BRAVE_API_KEY"],
      { inputs: { BRAVE_API_KEY: "k" } },
      { command: "npx", args: ["-y", mirror, brave], env: { BRAVE_API_KEY: "k" } },
    ],
    "02": [
      [],
      {},
      { command: "npx", args: ["-y", mirror, "@modelcontextprotocol/everything@0.6.2"], env: {} },
    ],
    "03": [
      [],
      {},
      {
        command: "dnx",
        args: ["Knapcode.SampleMcpServer@0.4.0-beta", "--yes", "--", "mcp", "start"],
        env: {},
      },
    ],
    "04": [
      [],
      { inputs: { target_dir: ["/a", "/b"] } },
      {
        command: "npx",
        args: ["-y", mirror, "@modelcontextprotocol/server-filesystem@1.0.2", "/a", "/b"],
        env: { LOG_LEVEL: "info" },
      },
    ],
    "05": [
      [],
      {},
      { transport: "streamable-http", url: "https://mcp-fs.anonymous.modelcontextprotocol.io/http" },
    ],
    "06": [
      ["WEATHER_API_KEY"],
      { inputs: { WEATHER_API_KEY: "k", WEATHER_UNITS: "fahrenheit" } },
      {
        command: "uvx",
        args: ["weather-mcp-server==0.5.0"],
        env: { WEATHER_API_KEY: "k", WEATHER_UNITS: "fahrenheit" },
      },
    ],
    "07": [
      ["WEATHER_CHOICES"],
      { inputs: { WEATHER_CHOICES: "rain,sun" } },
      {
        command: "dnx",
        args: ["Knapcode.SampleMcpServer@0.5.0", "--yes"],
        env: { WEATHER_CHOICES: "rain,sun" },
      },
    ],
    "08": [
      ["db_type", "database_name", "DB_USERNAME", "DB_PASSWORD"],
      {
        inputs: {
          db_type: "redis",
          database_name: "main",
          DB_USERNAME: "me",
          DB_PASSWORD: "p",
          "--port": 5432,
        },
      },
      {
        transport: "docker",
        image: "docker.io/example/database-manager-mcp:3.1.0",
        runArgs: ["--network", "host"],
        args: ["--host", "localhost", "--port", "5432", "main"],
        env: { DB_TYPE: "redis", DB_USERNAME: "me", DB_PASSWORD: "p", SSL_MODE: "prefer" },
      },
    ],
    "09": [
      ["X-API-Key"],
      { inputs: { "X-API-Key": "k" } },
      {
        transport: "streamable-http",
        url: "https://mcp.anonymous.modelcontextprotocol.io/http",
        headers: { "X-API-Key": "k", "X-Region": "us-east-1" },
      },
    ],
    "11": [[], {}, { command: "npx", args: ["-y", mirror, "snyk@1.1298.0", "mcp", "-t", "stdio"], env: {} }],
    "13": [
      ["tenant_id"],
      { inputs: { tenant_id: "us-cell1" } },
      { transport: "streamable-http", url: "https://anonymous.modelcontextprotocol.io/mcp/us-cell1" },
    ],
    "14": [
      [],
      { inputs: { "--port": 3100 } },
      { transport: "streamable-http", url: "http://localhost:3100/mcp" },
    ],
  };

describe("the examples of the documentation", () => {
  it("are 14", () => expect(exampleServers.size).toBe(14));

  it.each(Object.entries(EXPECTED))("%s", (number, [missing, options, entry]) => {
    const before = toServerConfig(example(number));
    expect(namesOf(before.missing)).toEqual(missing);
    expect(before.entry === undefined).toBe(missing.length > 0);
    expect(before.warnings[0]).toContain("make sure you can trust it");

    const after = toServerConfig(example(number), options);
    expect(after).toMatchObject({ missing: [], reason: undefined });
    expect(after.entry).toEqual(entry);
    expect(parseServerEntry(after.name, after.entry).name).toBe(after.name);
  });

  it("describes each input", () => {
    const { missing, inputs } = toServerConfig(example("08"));
    expect(missing).toMatchObject([
      { name: "db_type", where: "runtimeArgument", choices: ["postgres", "mysql", "mongodb", "redis"] },
      { name: "database_name", where: "argument", description: "Name of the database to connect to" },
      { name: "DB_USERNAME", where: "environment", isSecret: false },
      { name: "DB_PASSWORD", where: "environment", isSecret: true, isRequired: true },
    ]);
    expect(inputs.find(({ name }) => name === "--port")).toMatchObject({
      format: "number",
      isRequired: false,
    });
    expect(inputs.find(({ name }) => name === "SSL_MODE")).toMatchObject({ default: "prefer" });
    expect(toServerConfig(example("09")).missing).toMatchObject([{ name: "X-API-Key", where: "header" }]);
    expect(toServerConfig(example("13")).missing).toMatchObject([{ name: "tenant_id", where: "url" }]);
  });

  it("04 as a container, with its mounts repeated", () => {
    const inputs = { source_path: ["/a", "/b"], target_path: ["/project/a", "/project/b"] };
    const { entry, warnings } = toServerConfig(example("04"), { prefer: "oci", inputs });
    expect(entry).toEqual({
      transport: "docker",
      image: "docker.io/mcp/filesystem:1.0.2",
      runArgs: [
        ...["--mount", "type=bind,src=/a,dst=/project/a"],
        ...["--mount", "type=bind,src=/b,dst=/project/b"],
      ],
      args: ["/project"],
      env: { LOG_LEVEL: "info" },
    });
    expect(warnings.join("\n")).toContain("more access to this machine than usual: --mount");
    expect(namesOf(toServerConfig(example("04"), { prefer: "oci" }).missing)).toEqual(["source_path"]);
  });

  it("09 with each of its transports", () => {
    const sse = toServerConfig(example("09"), { prefer: ["sse"] });
    expect(sse.entry).toEqual({ transport: "sse", url: "https://mcp.anonymous.modelcontextprotocol.io/sse" });
    expect(sse.alternatives.map(({ type }) => type)).toEqual(["streamable-http", "npm"]);
    const local = toServerConfig(example("09"), {
      prefer: ["pypi", "package"],
      inputs: { "--mode": "proxy" },
    });
    expect(local).toMatchObject({
      entry: { command: "npx", args: ["-y", mirror, "@example/hybrid-mcp-server@1.5.0", "--mode", "proxy"] },
      source: { kind: "package", type: "npm", identifier: "@example/hybrid-mcp-server", version: "1.5.0" },
    });
  });

  it("10, a bundle, only after its file is verified", async () => {
    const { entry, reason, source } = toServerConfig(example("10"));
    expect(entry).toBeUndefined();
    expect(reason).toContain("verifyMcpb");
    expect(source?.type).toBe("mcpb");
    const [{ fileSha256 }] = example("10")["packages"] as [{ fileSha256: string }];
    await expect(verifyMcpb(new TextEncoder().encode("evil"), fileSha256)).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      message: expect.stringContaining("is not the file of the registry entry"),
    });
  });

  it("12, which has no package, points to its guide", () => {
    const { entry, reason, missing } = toServerConfig(example("12"));
    expect({ entry, missing }).toEqual({ entry: undefined, missing: [] });
    expect(reason).toContain("https://anonymous.modelcontextprotocol.io/embedded-mcp-guide");
  });

  it("14 says what has to be started first", () => {
    const { start, warnings } = toServerConfig(example("14"));
    expect(start).toMatchObject({
      command: "npx",
      args: ["-y", mirror, "@example/mcp-server@1.0.0", "--port", "3000"],
    });
    expect(warnings.join("\n")).toContain("start the program in `start`");
  });
});

describe("the seed", () => {
  it.each(
    seedServers.flatMap((server) =>
      ["npm", "oci", "nuget", "pypi"].map((type) => [server.name, type, server] as const),
    ),
  )("%s as %s", (_name, type, server) => {
    const prefer = type as "npm";
    const result = toServerConfig({ server }, { prefer, inputs: { AIRTABLE_API_KEY: "pat123" } });
    expect(result.reason).toBeUndefined();
    expect(parseServerEntry(result.name, result.entry).kind).toBe(
      result.source?.type === "oci" ? "docker" : "stdio",
    );
  });

  it("is started with uvx, despite other suggestions", () => {
    const { entry, warnings } = toServerConfig(seedServers[4]);
    expect(entry).toMatchObject({ command: "uvx", args: ["time-mcp-pypi==1.0.6"] });
    expect(warnings).toContain('The publisher suggests "python"; Toolport uses uvx instead');
  });
});
