/** Deferred tools, searches and calls of programs have the shapes that the providers' packages declare. */
import { describe, expectTypeOf, test } from "vitest";
import {
  acceptAnthropic,
  acceptOpenAI,
  refusedByAnthropic,
  refusedByOpenAI,
} from "../fixtures/tool-search-shapes.js";

describe("the installed packages", () => {
  test("accept what Toolport gives, and refuse what the APIs refuse", () => {
    for (const compiled of [acceptAnthropic, acceptOpenAI, refusedByAnthropic, refusedByOpenAI])
      expectTypeOf(compiled).toBeFunction();
  });
});
