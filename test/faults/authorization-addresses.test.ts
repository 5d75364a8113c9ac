/** Faults of addresses that a server names for its authorization: no browser opens an unsafe one, no request reaches a private one. */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { AuthError } from "toolport";
import { authorizeInBrowser } from "toolport/node";
import { beforeAll, expect } from "vitest";
import {
  ADDRESS_FIELDS,
  addressFields,
  installRebindingResolver,
  PRIVATE_HOSTS,
  REBINDING_HOST,
  REBINDINGS,
  REDIRECTING_PATHS,
  WILD_LOGIN_PAGES,
} from "../support/oauth-hostile-addresses.js";
import { startCanary } from "../support/oauth-hostile-server.js";
import { atMost } from "./at-most.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import { attempt, disposeAtEnd, linesOf, openHostile, warmUpOAuth } from "./oauth-setup.js";

beforeAll(warmUpOAuth, 60_000);

faultCase("A08", "in the metadata of an authorization server", async (harness) => {
  harness.open({});
  const hostile = await openHostile(harness, "127.0.0.3");
  for (const page of WILD_LOGIN_PAGES) {
    const { report, ms } = await attempt(harness, hostile, { metadata: { authorization_endpoint: page } });
    expect(report, String(page)).toMatchObject({ state: "failed", error: { name: "AuthError" } });
    expect(report.authUrl, String(page)).toBeUndefined();
    expect(report.error?.message).not.toContain("owned");
    expect(ms).toBeLessThanOrEqual(atMost(1_000));
  }
  // Refused before any request went there.
  expect(linesOf(hostile).filter((line) => line.startsWith("POST") && line !== "POST /mcp")).toEqual([]);
});

/** A fake browser that writes a file when it is started. */
function installBrowser(harness: FaultHarness): { wasStarted(): boolean } {
  const bin = join(harness.folder, "bin");
  const mark = join(harness.folder, "started");
  mkdirSync(bin);
  for (const name of ["xdg-open", "open", "sh", "cmd"]) {
    writeFileSync(join(bin, name), `#!/bin/sh\n: > '${mark}'\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const { PATH = "" } = process.env;
  process.env["PATH"] = `${bin}${delimiter}${PATH}`;
  harness.atEnd(() => {
    process.env["PATH"] = PATH;
  });
  return { wasStarted: () => existsSync(mark) };
}

faultCase("A08", "passed to the program that opens browsers", async (harness) => {
  harness.open({});
  const browser = installBrowser(harness);
  const shown: string[] = [];
  for (const page of WILD_LOGIN_PAGES) {
    const opening = authorizeInBrowser({
      authUrl: page as string,
      onUrl: (url) => shown.push(url),
      timeoutMs: 5_000,
    });
    const error: unknown = await harness.within(
      atMost(1_000),
      opening.catch((reason: unknown) => reason),
    );
    expect(error, String(page)).toBeInstanceOf(AuthError);
  }
  expect(shown).toEqual([]);
  expect(browser.wasStarted()).toBe(false);
});

for (const field of addressFields) {
  faultCase("A09", `${PRIVATE_HOSTS.length} spellings in ${field}`, async (harness) => {
    harness.open({});
    const hostile = await openHostile(harness, "127.0.0.3");
    const canary = disposeAtEnd(harness, await startCanary());
    for (const host of PRIVATE_HOSTS) {
      for (const scheme of ["http", "https"]) {
        const origin = `${scheme}://${host}:${canary.port}`;
        const { report, finished, ms } = await attempt(harness, hostile, ADDRESS_FIELDS[field](origin));
        const error = report.authUrl === undefined ? report.error : finished;
        // The client ignores a wrong address of the first document and uses the well-known one.
        if (field !== "resource_metadata" || report.authUrl === undefined) {
          expect(error, origin).toMatchObject({
            code: expect.stringMatching(/^(ADDRESS_REFUSED|AUTH_FAILED)$/),
          });
        }
        expect(ms, origin).toBeLessThanOrEqual(atMost(1_000));
      }
    }
    expect(canary.hits).toBe(0);
  });
}

faultCase("A09", "redirects from every endpoint", async (harness) => {
  harness.open({});
  const hostile = await openHostile(harness);
  const canary = disposeAtEnd(harness, await startCanary());
  const cases = [
    ...[301, 302, 303, 307, 308].map((status) => ({ status, host: "127.0.0.2" })),
    ...["[::1]", "169.254.169.254"].map((host) => ({ status: 302, host })),
  ];
  for (const path of REDIRECTING_PATHS) {
    for (const { status, host } of cases) {
      const to = `http://${host}:${canary.port}/latest/meta-data`;
      const { ms } = await attempt(harness, hostile, { redirect: { path, status, to } });
      expect(ms, `${path} ${status}`).toBeLessThanOrEqual(atMost(1_000));
    }
    expect(linesOf(hostile).map((line) => line.split(" ")[1])).toContain(path);
  }
  expect(canary.hits).toBe(0);
});

faultCase(
  "A09",
  "a resolver that changes its answer",
  async (harness) => {
    harness.open({});
    const hostile = await openHostile(harness, "127.0.0.3");
    const canary = disposeAtEnd(harness, await startCanary());
    const resolver = installRebindingResolver();
    harness.atEnd(() => resolver[Symbol.dispose]());
    for (const answers of Object.values(REBINDINGS)) {
      for (const field of addressFields) {
        resolver.answer(answers);
        await attempt(harness, hostile, ADDRESS_FIELDS[field](`https://${REBINDING_HOST}:${canary.port}`));
      }
    }
    expect(canary.hits).toBe(0);
  },
  { timeoutMs: 120_000 },
);
