/** Two users of one port, many calls: no answer goes to the other user. */
import { expect, test } from "vitest";
import { interleaveOverHttp } from "../support/users-over-http.js";

test("10,000 interleaved calls of two users over HTTP: none is mixed up, counted at the server", async () => {
  expect(await interleaveOverHttp(10_000)).toEqual({ ada: 5_000, grace: 5_000, crossed: 0, answers: 0 });
});
