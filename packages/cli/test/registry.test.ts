/** `search` and `add --from-registry` against a local registry. */
import { expect, test } from "vitest";
import { useProgram } from "../../../test/support/cli-sandbox.js";
import { startRegistryServer } from "../../../test/support/registry-server.js";

const createSandbox = useProgram();

const NAME = "io.github.user/weather";

const WEATHER = {
  name: NAME,
  description: "Weather \u001b[31mred\u001b[0m of anywhere",
  version: "1.2.0",
  packages: [
    {
      registryType: "npm",
      identifier: "@user/weather",
      version: "1.2.0",
      transport: { type: "stdio" },
      environmentVariables: [
        {
          name: "WEATHER_KEY",
          description: "A key of the weather service",
          isRequired: true,
          isSecret: true,
        },
      ],
    },
  ],
};

test("search lists servers as text and JSON", async () => {
  using sandbox = createSandbox();
  await using registry = await startRegistryServer({ records: [{ server: WEATHER }] });
  const found = await sandbox.run("search", "weather", "--registry", registry.url, "--json");
  expect(found.code).toBe(0);
  expect(found.json()).toMatchObject({
    servers: [{ name: NAME, version: "1.2.0", status: "active", ways: ["npm"] }],
    nextCursor: null,
  });
  const text = await sandbox.runWith({ env: { TOOLPORT_REGISTRY: registry.url } }, "search", "weather");
  expect(text.stdout).toContain(NAME);
  expect(text.stdout).not.toContain("\u001b");
  expect(text.stderr).toContain(`Next: toolport add --from-registry ${NAME}`);
  const none = await sandbox.run("search", "nothing-like-it", "--registry", registry.url);
  expect(none.code).toBe(0);
  expect((await sandbox.run("search", "x", "--limit", "0")).code).toBe(1);
  const away = await sandbox.run(
    "search",
    "x",
    "--registry",
    "http://127.0.0.1:9",
    "--timeout",
    "500",
    "--json",
  );
  expect(away.code).toBe(4);
});

test("add --from-registry reports missing inputs, warns, shows the command and asks for consent", async () => {
  using sandbox = createSandbox();
  await using registry = await startRegistryServer({ records: [{ server: WEATHER }] });
  const line = ["add", "--from-registry", NAME, "--registry", registry.url, "--no-check"];
  const missing = await sandbox.run(...line, "--json");
  expect(missing.code).toBe(2);
  expect(missing.error().code).toBe("MISSING_INPUTS");
  expect(missing.error().message).toContain("WEATHER_KEY (A key of the weather service) [secret]");
  expect(missing.error().next).toContain("--input WEATHER_KEY=…");

  const given = [...line, "--input", "WEATHER_KEY=hush-hush"];
  const refused = await sandbox.run(...given);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("make sure you can trust it");
  expect(refused.stderr).toMatch(/runs +npx .*@user\/weather@1\.2\.0/);
  expect(refused.stderr).not.toContain("hush-hush");
  const agreed = await sandbox.run(...given, "--yes");
  expect(agreed.code).toBe(0);
  expect(JSON.parse(await sandbox.read(sandbox.ownFile)).mcpServers.weather).toMatchObject({
    command: "npx",
    env: { WEATHER_KEY: "hush-hush" },
  });
  const unknown = await sandbox.run(
    "add",
    "--from-registry",
    "io.x/none",
    "--registry",
    registry.url,
    "--json",
  );
  expect(unknown.code).toBe(2);
});
