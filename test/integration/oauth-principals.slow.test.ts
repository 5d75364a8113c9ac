/** Two users of one port at a protected server, many calls: no token is mixed up. */
import { test } from "vitest";
import { expectNoCrossedTokens } from "../support/interleave-users.js";

const CALLS = process.env["TOOLPORT_LONG"] === undefined ? 1_000 : 10_000;

test(`${CALLS} interleaved calls of two users, tokens expiring in between: none crosses`, () =>
  expectNoCrossedTokens(CALLS));
