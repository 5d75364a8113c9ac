/** The validator that a server's entry brings along in its `clientOptions`. */
import type { ClientOptions } from "@modelcontextprotocol/client";
import type { ServerConfig } from "../config/server-config.js";
import { createSchemaValidator, type SchemaValidator } from "../schema/create-validator.js";
import { fromSdkValidator } from "../schema/sdk-validator.js";

type SdkValidator = NonNullable<ClientOptions["jsonSchemaValidator"]>;

/** What was compiled lives as long as the user's validator does. */
const known = new WeakMap<SdkValidator, SchemaValidator>();

/** Undefined for servers that are checked like all others. */
export function serverValidator(config: ServerConfig | undefined): SchemaValidator | undefined {
  const given = config?.clientOptions?.reveal().jsonSchemaValidator;
  if (given === undefined) return undefined;
  const validator = known.get(given) ?? createSchemaValidator({ validator: fromSdkValidator(given) });
  known.set(given, validator);
  return validator;
}
