/** Sets environment variables for a test and restores them afterwards. */
import { afterEach } from "vitest";

const PROXY_VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"].flatMap((name) => [
  name,
  name.toLowerCase(),
]);

/** Sets variables until the end of the test, and unsets all other proxy variables. */
export function useProxyVariables(): (variables: Readonly<Record<string, string>>) => void {
  const before = new Map<string, string | undefined>();
  const set = (name: string, value: string | undefined) => {
    if (!before.has(name)) before.set(name, process.env[name]);
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  };
  afterEach(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    before.clear();
  });
  return (variables) => {
    for (const name of PROXY_VARIABLES) set(name, undefined);
    for (const [name, value] of Object.entries(variables)) set(name, value);
  };
}
