/** Rules on resources: no other way to write a URI leaves them, and what a server lists itself can be read. */
import { posix } from "node:path";
import { memoryStore } from "toolport";
import { type GatewayOptions, type PolicyDocument, type PolicyRequest, readPolicy } from "toolport/serve";
import { createTestServer } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { openGateway } from "./gateway-scene.js";

const FILES: Readonly<Record<string, string>> = { "/public/a": "open", "/secret": "hidden" };

/** Opens files as carelessly as a server can: whatever the URI looks like, it finds the file. */
function carelessPath(uri: string): string {
  const path = decodeURIComponent(uri.replace(/[?#].*$/s, ""))
    .replaceAll("\\", "/")
    .replace(/^file:(?:\/\/[^/]*)?/i, "");
  return posix.resolve("/", decodeURIComponent(path).split("\0")[0]!.trim());
}

/** Names in its own lists that no other server would choose. */
const OWN_NAMES = ["FILE:///public/%61", "file:///public/x%2fy", "Notes://Team/A?x=1#top", "plain name"];

async function open(document: PolicyDocument | GatewayOptions["policy"], more: Partial<GatewayOptions> = {}) {
  const received: string[] = [];
  const server = createTestServer({
    resources: Object.fromEntries(
      OWN_NAMES.map((uri) => [
        uri,
        {
          read: () => {
            received.push(uri);
            return "listed";
          },
        },
      ]),
    ),
    resourceTemplates: {
      "file:///{+path}": {
        complete: { path: () => ["secret"] },
        read: (uri) => {
          received.push(uri);
          return /^file:/i.test(uri) ? FILES[carelessPath(uri)] : undefined;
        },
      },
    },
  });
  const policy =
    document !== undefined && "rules" in (document as object)
      ? await readPolicy(document as PolicyDocument)
      : (document as GatewayOptions["policy"]);
  const scene = await openGateway(
    { mcpServers: { files: server.memory() }, resourcesAsTools: true, store: memoryStore() },
    { auth: false, ...(policy !== undefined && { policy }), ...more } as GatewayOptions,
  );
  return {
    scene,
    received,
    async [Symbol.asyncDispose]() {
      await scene[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

const SECRET_DENIED: PolicyDocument = {
  default: "allow",
  rules: [{ effect: "deny", resource: ["file:///secret", "file:///secret/*"], reason: "Not for you" }],
};
const PUBLIC_ONLY: PolicyDocument = {
  default: "deny",
  rules: [{ effect: "allow", resource: ["file:///public/*", "notes://*", "plain*"] }],
};

/** Ways to write `file:///secret`. */
const SPELLINGS = [
  "file:///secret",
  "FILE:///secret",
  "file:/secret",
  "file://localhost/secret",
  "file://LOCALHOST/secret",
  "file:///public/../secret",
  "file:///./secret",
  "file:///%73ecret",
  "file:///public/..%2fsecret",
  "file:///public/%2e%2e/secret",
  "file:///public\\..\\secret",
  "file:////secret",
  "file:///secret/",
  "file:///secret?x",
  "file:///secret#x",
  "file:///%2573ecret",
  "file:///secret%00.txt",
  "file://user@localhost/secret",
  "file://other/secret",
  " file:///secret",
  "file:///secret ",
];

describe.each(["modern", "legacy"] as const)("%s clients", (era) => {
  test.each([
    ["a rule that denies", SECRET_DENIED],
    ["rules that allow", PUBLIC_ONLY],
  ])("leave %s with no other way to write the URI", async (_title, rules) => {
    await using gateway = await open(rules);
    const client = await gateway.scene.client(era);
    for (const uri of SPELLINGS) {
      await expect(client.readResource({ uri }), uri).rejects.toMatchObject({ data: { code: "REFUSED" } });
      const tool = await client.callTool({
        name: "read_resource",
        arguments: { mcpServer: "files", uri },
      });
      expect(tool, uri).toMatchObject({ isError: true, _meta: { "toolport/error": { code: "REFUSED" } } });
      const ref = { type: "ref/resource", uri } as const;
      const asked = client.complete({ ref, argument: { name: "path", value: "" } });
      await expect(asked, uri).rejects.toMatchObject({ data: { code: "REFUSED" } });
    }
    expect(gateway.received).toEqual([]);
  });

  test("read what is allowed by the URI that was decided about", async () => {
    await using gateway = await open(PUBLIC_ONLY);
    const client = await gateway.scene.client(era);
    for (const uri of ["file:///public/a", "FILE://localhost/secret/../public/%61", "file:/public/./a"]) {
      const { contents } = await client.readResource({ uri });
      expect(contents[0], uri).toMatchObject({ text: "open" });
      const tool = await client.callTool({ name: "read_resource", arguments: { mcpServer: "files", uri } });
      expect(tool.isError ?? false, uri).toBe(false);
    }
    expect(new Set(gateway.received)).toEqual(new Set(["file:///public/a"]));
  });

  test("read what the server lists, as the server writes it", async () => {
    await using gateway = await open(PUBLIC_ONLY);
    const client = await gateway.scene.client(era);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri).toSorted()).toEqual(OWN_NAMES.toSorted());
    for (const uri of OWN_NAMES) {
      const { contents } = await client.readResource({ uri });
      expect(contents[0], uri).toMatchObject({ text: "listed" });
      const tool = await client.callTool({ name: "read_resource", arguments: { mcpServer: "files", uri } });
      expect(tool.isError ?? false, uri).toBe(false);
    }
    expect(gateway.received).toEqual(OWN_NAMES.flatMap((uri) => [uri, uri]));
  });

  test("see no listed resource of which one reading is denied", async () => {
    await using gateway = await open({
      default: "allow",
      rules: [{ effect: "deny", resource: ["file:///public/x/*", "notes://team/*"] }],
    });
    const client = await gateway.scene.client(era);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri).toSorted()).toEqual([OWN_NAMES[0], OWN_NAMES[3]]);
    for (const uri of OWN_NAMES.slice(1, 3))
      await expect(client.readResource({ uri })).rejects.toMatchObject({ data: { code: "REFUSED" } });
  });

  test("complete a template that the server lists", async () => {
    await using gateway = await open(SECRET_DENIED);
    const client = await gateway.scene.client(era);
    const ref = { type: "ref/resource", uri: "file:///{+path}" } as const;
    const { completion } = await client.complete({ ref, argument: { name: "path", value: "" } });
    expect(completion.values).toEqual(["secret"]);
    const other = { type: "ref/resource", uri: "file:///secret/{x}" } as const;
    const asked = client.complete({ ref: other, argument: { name: "x", value: "" } });
    await expect(asked).rejects.toMatchObject({ data: { code: "REFUSED" } });
  });

  test("reach the server with any URI without a policy", async () => {
    await using gateway = await open(undefined);
    const client = await gateway.scene.client(era);
    for (const uri of ["FILE:///public/./%61", "file:///public/..%2fsecret"])
      await client.readResource({ uri });
    expect(gateway.received).toEqual(["FILE:///public/./%61", "file:///public/..%2fsecret"]);
  });
});

test("an engine is asked about the normal form, and about each reading of a listed resource", async () => {
  const asked: string[] = [];
  await using gateway = await open(({ uri, method }: PolicyRequest) => {
    if (uri !== undefined && method === "resources/read") asked.push(uri);
    return uri !== "file:///public/x/y";
  });
  const client = await gateway.scene.client("modern");
  await client.readResource({ uri: "FILE:///public/%61/." }).catch(() => undefined);
  await client.readResource({ uri: "FILE:///public/b/../%61" });
  await expect(client.readResource({ uri: "file:///public/x%2fy" })).rejects.toThrow("refused");
  expect(asked).toEqual(["file:///public/a", "file:///public/x%2Fy", "file:///public/x/y"]);
});

test("subscriptions are decided about by the normal form", async () => {
  await using gateway = await open(SECRET_DENIED);
  const client = await gateway.scene.client("legacy");
  for (const uri of SPELLINGS)
    await expect(client.subscribeResource({ uri }), uri).rejects.toMatchObject({ data: { code: "REFUSED" } });
  await client.subscribeResource({ uri: "FILE:///public/a" });
});
