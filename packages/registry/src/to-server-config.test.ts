/** Malformed and hostile entries: no value becomes an option, a shell command or another host. */
import { describe, expect, it } from "vitest";
import { type ToServerConfigOptions, toServerConfig } from "./to-server-config.js";

const wrap = (parts: object) => ({ name: "io.example/thing", description: "d", version: "1.0.0", ...parts });
const npm = (parts: object = {}) =>
  wrap({
    packages: [
      { registryType: "npm", identifier: "thing", version: "1.2.3", transport: { type: "stdio" }, ...parts },
    ],
  });
const remote = (parts: object) => wrap({ remotes: [{ type: "streamable-http", ...parts }] });
const argsOf = (server: object, options: ToServerConfigOptions = {}) => {
  const { entry } = toServerConfig(server, options);
  return entry?.command === undefined ? undefined : entry.args;
};

describe("identifiers and versions", () => {
  it.each([
    ["npm", "--call=evil"],
    ["npm", "-c"],
    ["npm", "user/repo"],
    ["npm", "git+https://example.com/x.git"],
    ["npm", "./local"],
    ["npm", "a b"],
    ["npm", "@scope/-x/y"],
    ["pypi", "--from=evil"],
    ["pypi", "thing @ https://example.com/x.whl"],
    ["nuget", "-x"],
    ["oci", "--privileged"],
    ["oci", "image -v /:/host"],
  ])("rejects %s %j", (registryType, identifier) => {
    const { entry, reason } = toServerConfig(npm({ registryType, identifier }));
    expect(entry).toBeUndefined();
    expect(reason).toMatch(/cannot be used: its (identifier|image)/);
  });

  it.each([
    "^1.0.0",
    "1.x",
    "1.2",
    "next",
    "npm:evil@1.0.0",
    "https://example.com/x.tgz",
    "1.0.0 || 2",
    "-1",
  ])("rejects the version %j", (version) => {
    expect(toServerConfig(npm({ version })).reason).toContain("version is not exact");
  });

  it.each(["1.2.3", "0.4.0-beta", "1.0.0+20130313"])("accepts the version %j", (version) => {
    expect(argsOf(npm({ version }))).toEqual(["-y", `thing@${version}`]);
  });

  it.each([undefined, "latest"])("warns about the version %j", (version) => {
    const { entry, warnings } = toServerConfig(npm({ version }));
    expect(entry).toMatchObject({ args: ["-y", "thing"] });
    expect(warnings.join("\n")).toContain("has no version");
  });

  it.each(["http://example.com", "https://u:p@example.com", "nonsense"])(
    "rejects packages from %j",
    (registryBaseUrl) => {
      expect(toServerConfig(npm({ registryBaseUrl })).reason).toContain("not an https URL");
    },
  );

  it("combines host and tag of older image entries", () => {
    const image = (parts: object) => {
      const { entry } = toServerConfig(npm({ registryType: "oci", ...parts }));
      return entry !== undefined && "image" in entry ? entry.image : undefined;
    };
    expect(image({ identifier: "mcp/time", registryBaseUrl: "https://docker.io" })).toBe(
      "docker.io/mcp/time:1.2.3",
    );
    expect(image({ identifier: "ghcr.io/mcp/time:2", version: undefined })).toBe("ghcr.io/mcp/time:2");
    expect(image({ identifier: "localhost:5000/time", version: undefined })).toBe("localhost:5000/time");
  });

  it.each([
    ["cargo", "installing them"],
    ["gems", 'the kind "gems"'],
    ["__proto__", 'the kind "__proto__"'],
  ])("says why %s is not supported", (registryType, why) => {
    const { entry, warnings, reason } = toServerConfig(npm({ registryType }));
    expect(entry).toBeUndefined();
    expect(warnings.join("\n")).toContain(why);
    expect(reason).toContain("no usable package or remote");
  });
});

describe("arguments", () => {
  const named = (parts: object) => npm({ packageArguments: [{ type: "named", name: "--x", ...parts }] });
  const positional = (parts: object) =>
    npm({ packageArguments: [{ type: "positional", valueHint: "x", ...parts }] });
  const ownArgs = (server: object, options?: ToServerConfigOptions) => argsOf(server, options)?.slice(2);

  it("are single words, independent of their content", () => {
    const inputs = { x: "a b; rm -rf ~ $(touch y) `z`" };
    expect(ownArgs(positional({}), { inputs })).toEqual([inputs.x]);
    expect(ownArgs(named({}), { inputs: { "--x": "--y" } })).toEqual(["--x=--y"]);
  });

  it("of the user cannot become options", () => {
    const { entry, missing } = toServerConfig(positional({}), { inputs: { x: "--evil" } });
    expect(entry).toBeUndefined();
    expect(missing).toMatchObject([
      { name: "x", problem: expect.stringContaining('must not start with "-"') },
    ]);
    expect(ownArgs(positional({ format: "number" }), { inputs: { x: -1 } })).toEqual(["-1"]);
  });

  it.each([
    [{ choices: ["a", "b"] }, "c", "must be one of a, b"],
    [{ format: "number" }, "1e5", "must be a number"],
    [{ format: "boolean" }, "yes", "must be true or false"],
    [{}, ["a", "b"], "accepts only one value"],
    [{}, "a\0b", "must not contain a NUL character"],
  ])("that are invalid for %j are reported as missing", (parts, value, problem) => {
    const { entry, missing, reason } = toServerConfig(named(parts), { inputs: { "--x": value } });
    expect(entry).toBeUndefined();
    expect(missing).toMatchObject([{ name: "--x", problem }]);
    expect(reason).toBe("It needs --x");
  });

  it("are left out if optional, and cannot be changed if fixed", () => {
    expect(ownArgs(named({}))).toEqual([]);
    expect(ownArgs(named({ value: "v" }), { inputs: { "--x": "other" } })).toEqual(["--x", "v"]);
    expect(ownArgs(named({ value: "" }))).toEqual(["--x"]);
    expect(ownArgs(named({ default: "d", choices: ["a"] }))).toEqual([]);
    expect(ownArgs(named({ isRequired: true }), { inputs: { "--x": "" } })).toBeUndefined();
  });

  it("may be flags without a value", () => {
    expect(ownArgs(named({ isRequired: true }), { inputs: { "--x": true } })).toEqual(["--x"]);
    expect(ownArgs(named({ isRequired: true }), { inputs: { "--x": false } })).toEqual([]);
    expect(ownArgs(named({ format: "boolean" }), { inputs: { "--x": true } })).toEqual(["--x", "true"]);
  });

  it("are filled with variables; undeclared names stay", () => {
    const template = { value: "{a}-{b}-{a}", variables: { a: { isRequired: true } } };
    expect(ownArgs(named(template), { inputs: { a: "{b}" } })).toEqual(["--x", "{b}-{b}-{b}"]);
    expect(ownArgs(named({ value: "{__proto__}{constructor}" }))).toEqual([
      "--x",
      "{__proto__}{constructor}",
    ]);
    expect(ownArgs(named({ value: "{o}", variables: { o: {} } }))).toEqual([]);
    const lists = { value: "{a}:{b}", isRepeated: true, variables: { a: {}, b: {} } };
    expect(ownArgs(named(lists), { inputs: { a: ["1", "2"], b: "3" } })).toEqual([
      "--x",
      "1:3",
      "--x",
      "2:3",
    ]);
    expect(
      toServerConfig(named(lists), { inputs: { a: ["1", "2"], b: ["1", "2", "3"] } }).entry,
    ).toBeUndefined();
  });

  it("never make npx run a shell, and otherwise cause a warning", () => {
    const runtime = (...values: string[]) =>
      npm({ runtimeArguments: values.map((value) => ({ type: "positional", value })) });
    for (const value of ["-c", "-yc", "--call", "--call=x", "--cal=x"]) {
      expect(toServerConfig(runtime(value, "rm -rf ~")).reason).toContain("makes npx run a shell");
    }
    const { entry, warnings } = toServerConfig(runtime("-y", "--prefer-offline"));
    expect(entry).toMatchObject({ args: ["-y", "--prefer-offline", "thing@1.2.3"] });
    expect(warnings.join("\n")).toContain("arguments for npx");
    const other = { ...runtime("-m", "thing") };
    (other as ReturnType<typeof npm> & { packages: { runtimeHint?: string }[] }).packages[0]!.runtimeHint =
      "python";
    expect(toServerConfig(other).reason).toContain('its arguments are for "python"');
  });

  it("of containers keep secrets off the command line", () => {
    const server = npm({
      registryType: "oci",
      identifier: "mcp/thing",
      runtimeHint: "podman",
      runtimeArguments: [
        ...["run", "-i", "--rm", "-t", "--privileged"].map((value) => ({ type: "positional", value })),
        {
          type: "named",
          name: "-e",
          value: "TOKEN={token}",
          variables: { token: { isSecret: true, isRequired: true } },
        },
        { type: "named", name: "--env", value: "PLAIN" },
      ],
    });
    const { entry, warnings } = toServerConfig(server, { inputs: { token: "s3cret" } });
    expect(entry).toEqual({
      transport: "docker",
      engine: "podman",
      image: "mcp/thing:1.2.3",
      args: [],
      env: { TOKEN: "s3cret" },
      runArgs: ["--privileged", "--env", "PLAIN"],
    });
    expect(warnings.join("\n")).not.toContain("command line");
    expect(warnings.join("\n")).toContain("--privileged");
  });

  it("with a secret cause a warning", () => {
    const { warnings } = toServerConfig(named({ isSecret: true }), { inputs: { "--x": "s3cret" } });
    expect(warnings.join("\n")).toContain("The command line contains a secret");
    expect(warnings.join("\n")).not.toContain("s3cret");
  });

  it("with unknown names cause a warning", () => {
    expect(toServerConfig(named({}), { inputs: { "--y": "1" } }).warnings).toContain(
      'There is no input "--y"; did you mean "--x"?',
    );
  });
});

describe("URLs", () => {
  const variables = { host: { isRequired: true }, key: { isSecret: true } };

  it("keep their host, independent of the values in them", () => {
    const at = (host: string) =>
      toServerConfig(remote({ url: "https://{host}.example.com/mcp", variables }), { inputs: { host } });
    expect(at("eu").entry).toMatchObject({ url: "https://eu.example.com/mcp" });
    for (const host of ["evil.com/", "me@evil.com", "evil.com#", "evil.com?x="]) {
      const { entry } = at(host);
      const url = entry !== undefined && "url" in entry ? new URL(String(entry.url)).host : "";
      expect(url.endsWith("example.com") || url === "").toBe(true);
    }
  });

  it("may be an input of the user", () => {
    const server = remote({ url: "{base}/mcp", variables: { base: {} } });
    expect(toServerConfig(server).missing).toMatchObject([{ name: "base", isRequired: true }]);
    const { entry, warnings } = toServerConfig(server, { inputs: { base: "http://10.0.0.1:8080/" } });
    expect(entry).toMatchObject({ url: "http://10.0.0.1:8080/mcp" });
    expect(warnings.join("\n")).toContain("inside your own network: 10.0.0.1");
    expect(toServerConfig(server, { inputs: { base: "file:///etc" } }).reason).toContain(
      "must start with https:",
    );
  });

  it.each([
    ["http://10.0.0.1/mcp", ["IP address", "not encrypted"]],
    ["https://[::ffff:10.0.0.1]/mcp", ["IP address"]],
    ["https://8.8.8.8/mcp", ["IP address"]],
    ["https://printer.local/mcp", ["inside your own network"]],
    ["http://localhost:1/mcp", ["inside your own network"]],
    ["https://example.com/mcp", []],
  ])("that are IP addresses or local cause a warning: %s", (url, expected) => {
    const { warnings } = toServerConfig(remote({ url }));
    // The first warning is about registries in general.
    expect(warnings.slice(1)).toEqual(expected.map((words) => expect.stringContaining(words)));
  });

  it("without encryption or with a secret cause a warning", () => {
    const server = remote({ url: "http://example.com/{key}", variables });
    const { warnings } = toServerConfig(server, { inputs: { key: "s3/cret" } });
    expect(warnings.join("\n")).toContain("not encrypted");
    expect(warnings.join("\n")).toContain("The server's URL contains a secret");
  });

  it("have headers with variables", () => {
    const headers = [
      {
        name: "Authorization",
        value: "Bearer {token}",
        isRequired: true,
        variables: { token: { isSecret: true } },
      },
      { name: "X-Optional", value: "{o}", variables: { o: {} } },
      { name: "X-Plain", value: "{undeclared}" },
    ];
    const server = remote({ url: "https://example.com/mcp", headers });
    expect(toServerConfig(server).missing).toMatchObject([
      { name: "token", isSecret: true, where: "header" },
    ]);
    expect(toServerConfig(server, { inputs: { token: "t" } }).entry).toEqual({
      transport: "streamable-http",
      url: "https://example.com/mcp",
      headers: { Authorization: "Bearer t", "X-Plain": "{undeclared}" },
    });
    expect(toServerConfig(server, { inputs: { token: "t\r\nX: y" } }).missing).toMatchObject([
      { problem: "must not contain line breaks" },
    ]);
  });
});

describe("entries", () => {
  it.each([undefined, null, 1, [], {}, { name: "a/b" }, { server: {} }])(
    "cannot be created from %j",
    (server) => {
      const { entry, reason, warnings } = toServerConfig(server);
      expect({ entry, count: warnings.length }).toEqual({ entry: undefined, count: 1 });
      expect(reason).toContain("cannot be read");
    },
  );

  it("are rejected for deleted versions, and cause a warning for deprecated ones", () => {
    const listed = (status: string) => ({
      server: npm(),
      _meta: { "io.modelcontextprotocol.registry/official": { status, statusMessage: "use 2.0" } },
    });
    expect(toServerConfig(listed("deleted"))).toMatchObject({
      entry: undefined,
      reason: "The registry marks this version as deleted: use 2.0",
    });
    const { entry, warnings } = toServerConfig(listed("deprecated"));
    expect(entry).toBeDefined();
    expect(warnings).toContain("The registry marks this version as deprecated: use 2.0");
  });

  it("report the parts that were left out", () => {
    const server = wrap({ ...npm(), remotes: [{ type: "ftp" }] });
    expect(toServerConfig(server).warnings).toContain(
      "A part of the entry was left out: remotes[0]: is of an unknown type",
    );
  });

  it.each([
    ["io.github.user/weather", "weather"],
    ["io.figma/mcp-server", "figma"],
    ["a/b.c", "b-c"],
    ["a/__proto__", "server"],
    ["a/...", "server"],
  ])("are named: %s is %s", (name, expected) => {
    expect(toServerConfig({ ...npm(), name }).name).toBe(expected);
  });

  it("use the default source if the preferred one is not available", () => {
    expect(toServerConfig(npm(), { prefer: "oci" })).toMatchObject({
      source: { type: "npm" },
      warnings: expect.arrayContaining(["The server is not available as oci"]),
    });
  });
});
