/** What a configuration shows of itself in logs and JSON: everything but secrets. */
import { redactUrl } from "../util/redact-text.js";

const inspect = Symbol.for("nodejs.util.inspect.custom");

function view(config: object): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const [key, { get, value }] of Object.entries(Object.getOwnPropertyDescriptors(config))) {
    if (get !== undefined) shown[key] = get.call(config) === undefined ? undefined : "[auth provider]";
    else if (key === "url") shown[key] = redactUrl(String(value));
    else shown[key] = typeof value === "function" ? "[function]" : value;
  }
  return shown;
}

/** Shared by all configurations, so that no printer walks into a provider that keeps tokens or prints a URL's query. */
const printable = Object.freeze({
  toJSON(this: object): Record<string, unknown> {
    return view(this);
  },
  [inspect](this: object): Record<string, unknown> {
    return view(this);
  },
});

/**
 * Freezes the fields of a configuration behind a printable front. `authProvider` becomes a getter: printers show
 * getters by name and do not walk into them, and a copy by spread still has the provider.
 */
export function freezeConfig<Config extends object>(fields: Config): Config {
  const config = Object.assign(Object.create(printable), fields);
  if ("authProvider" in fields) {
    const { authProvider } = fields;
    Object.defineProperty(config, "authProvider", { get: () => authProvider, enumerable: true });
  }
  return Object.freeze(config);
}
