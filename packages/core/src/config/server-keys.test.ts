import { userPrefix } from "@toolport/stores";
import { expect, test } from "vitest";
import { httpConfig } from "../../../../test/fixtures/servers/http-setup.js";
import { serverIdentity, serverKey } from "./server-keys.js";

const config = (name: string, url = "https://example.com/mcp") => httpConfig(url, { name });

test("the identity of a server contains its name and its address", () => {
  expect(serverIdentity(config("mail"))).toBe("mail/http:https://example.com/mcp");
  expect(serverIdentity(config("a/b"))).toBe("a%2Fb/http:https://example.com/mcp");
});

test("keys of different users and servers differ, with any characters in their names", () => {
  const users = [undefined, "ada", "ada/mail", "ada%2Fmail", "/"];
  const servers = [config("mail"), config("mail/http:"), config("mail", "https://example.com/other")];
  const keys = users.flatMap((user) => servers.map((server) => serverKey("pins", user, server)));
  expect(new Set(keys).size).toBe(users.length * servers.length);
});

test("the key of a server begins with the prefix of its user", () => {
  expect(userPrefix("pins", "ada")).toBe("pins/ada/");
  expect(userPrefix("pins", undefined)).toBe("pins//");
  expect(userPrefix("pins", "a/b")).toBe("pins/a%2Fb/");
  expect(serverKey("pins", "ada", config("mail"))).toBe("pins/ada/mail/http:https://example.com/mcp");
});
