/** How a configuration appears in logs and JSON: without secrets. */
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

/** Prototype of all configurations. It keeps printers from showing the tokens of a provider or the query of a URL. */
const printable = Object.freeze({
  toJSON(this: object): Record<string, unknown> {
    return view(this);
  },
  [inspect](this: object): Record<string, unknown> {
    return view(this);
  },
});

/**
 * Freezes the fields of a configuration, with the prototype above. `authProvider` becomes a getter: printers show
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
