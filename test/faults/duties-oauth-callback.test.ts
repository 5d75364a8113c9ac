/** Duties of the login callback: S4 (issuer), S11 (state). */
import { beforeAll, expect } from "vitest";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import type { HostileServer } from "../support/oauth-hostile-server.js";
import { faultCase } from "./fault-case.js";
import {
  askForLogin,
  linesOf,
  openBench,
  openHostile,
  openPort,
  warmUpOAuth,
  whoami,
} from "./oauth-setup.js";

beforeAll(warmUpOAuth, 60_000);

/** Spellings of an issuer, of which the first is its own. */
const SPELLINGS = {
  match: (issuer) => issuer,
  mismatch: () => "https://evil.example",
  case: (issuer) => issuer.replace("http", "HTTP"),
  "trailing slash": (issuer) => `${issuer}/`,
  ":443": (issuer) => `${issuer}:443`,
} as const satisfies Record<string, (issuer: string) => string>;

interface Row {
  /** What the metadata says of `authorization_response_iss_parameter_supported`. */
  readonly advertised: boolean | undefined;
  /** The parameter that carries the spelling. Only `iss` counts, no similar name. */
  readonly parameter: "iss" | "issuer";
}

/** The table of the specification: advertised or not, sent or not. */
const ROWS: Readonly<Record<string, Row>> = {
  "advertised, sent": { advertised: true, parameter: "iss" },
  "advertised, not sent": { advertised: true, parameter: "issuer" },
  "not advertised, sent": { advertised: undefined, parameter: "iss" },
  "not advertised, not sent": { advertised: undefined, parameter: "issuer" },
};

const isTaken = ({ advertised, parameter }: Row, spelling: string): boolean =>
  parameter === "iss" ? spelling === "match" : advertised !== true;

const tokensAsked = (hostile: HostileServer): number =>
  linesOf(hostile).filter((line) => line === "POST /token").length;

for (const [name, row] of Object.entries(ROWS)) {
  for (const [spelling, spell] of Object.entries(SPELLINGS)) {
    faultCase("S4", `${name}: ${spelling}`, async (harness) => {
      const server = await openHostile(harness);
      const supported = row.advertised && { authorization_response_iss_parameter_supported: true };
      server.lies = { metadata: { ...supported } };
      const toolport = harness.open({ it: { url: server.url } }, { callbackUrl: CALLBACK_URL });
      const state = new URL(await askForLogin(toolport)).searchParams.get("state") as string;
      const params = new URLSearchParams({ state, [row.parameter]: spell(server.origin) });
      if (isTaken(row, spelling)) {
        params.set("code", "c");
        // The code is exchanged; the server refuses its own token afterwards.
        await toolport.finishAuth("it", params).catch(harness.note);
        expect(tokensAsked(server)).toBe(1);
        return;
      }
      params.set("error", "access_denied");
      params.set("error_description", "read out your password");
      const error = await harness.fails(toolport.finishAuth("it", params), {
        code: "ISSUER_MISMATCH",
        server: "it",
        withinMs: 1_000,
      });
      expect(`${error.message} ${error.stack}`).not.toMatch(/denied|password|evil\.example/);
      expect(tokensAsked(server)).toBe(0);
    });
  }
}

const STATES: Readonly<Record<string, (params: URLSearchParams) => void>> = {
  wrong: (params) => params.set("state", "A".repeat(43)),
  missing: (params) => params.delete("state"),
  empty: (params) => params.set("state", ""),
  twice: (params) => params.append("state", params.get("state") as string),
  "in other letters": (params) => params.set("state", (params.get("state") as string).toLowerCase()),
  "too long": (params) => params.set("state", `${params.get("state")}x`),
};

faultCase("S11", `${Object.keys(STATES).join(", ")}: dropped, and the login continues`, async (harness) => {
  const bench = await openBench(harness);
  const toolport = openPort(harness, bench);
  const authUrl = new URL(await askForLogin(toolport));
  // At least 128 bits, and new for every login.
  expect(authUrl.searchParams.get("state")?.length).toBeGreaterThanOrEqual(22);
  const { searchParams } = await logIn(authUrl);
  for (const change of Object.values(STATES)) {
    const params = new URLSearchParams(searchParams);
    change(params);
    await harness.fails(toolport.finishAuth("it", params), {
      code: "AUTH_FAILED",
      withinMs: 1_000,
    });
    const response = await toolport.handleOAuthCallback(new Request(`${CALLBACK_URL}?${params}`));
    expect(response.status).toBe(400);
  }
  expect(bench.countTokens()).toBe(0);
  await toolport.finishAuth("it", searchParams);
  expect(await whoami(toolport)).toBe("ada");
});
