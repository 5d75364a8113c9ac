/**
 * A vitest reporter that appends each failed test, and each error outside of a test, as a line of JSON to the file named by
 * `TOOLPORT_FAILURE_LIST`. `scripts/test.mjs` sets the variable and prints the list below its table. Does nothing without it.
 */
import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";

export default class FailureList {
  onTestRunEnd(modules, unhandledErrors) {
    const file = process.env["TOOLPORT_FAILURE_LIST"];
    if (file === undefined) return;
    const failures = [...modules.flatMap(failuresOf), ...failure("outside of a test", unhandledErrors)];
    appendFileSync(file, failures.map((one) => `${JSON.stringify(one)}\n`).join(""));
  }
}

function failuresOf(module) {
  const path = relative(process.cwd(), module.moduleId);
  const suites = [...module.children.allSuites()].flatMap((suite) =>
    failure(`${path} > ${suite.fullName}`, suite.errors()),
  );
  const tests = [...module.children.allTests("failed")].flatMap((test) =>
    failure(`${path} > ${test.fullName}`, test.result().errors),
  );
  return [...failure(path, module.errors()), ...suites, ...tests];
}

/** Only the first error of a test: the others usually follow from it. */
function failure(where, errors) {
  if (errors.length === 0) return [];
  const { name, message, stack } = errors[0];
  const text = stack?.includes(message) ? stack : `${name ?? "Error"}: ${message}`;
  return [{ where, error: stripVTControlCharacters(text) }];
}
