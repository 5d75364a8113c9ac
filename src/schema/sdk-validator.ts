/** Adapts our validator to the SDK's client, so that a hostile pattern in an `outputSchema` cannot freeze it, and the reverse. */
import type {
  JsonSchemaType,
  JsonSchemaValidatorResult,
  jsonSchemaValidator,
} from "@modelcontextprotocol/client";
import type { SchemaValidator, SchemaValidatorFactory } from "./create-validator.js";
import type { JsonSchema } from "./json-schema.js";

/** Adapts a validator for the SDK. The SDK validates synchronously, so all code is loaded before this resolves. */
export async function createSdkValidator(validator: SchemaValidator): Promise<jsonSchemaValidator> {
  await validator.prepare();
  return {
    getValidator<T>(schema: JsonSchemaType) {
      return (input: unknown): JsonSchemaValidatorResult<T> => {
        const issues = validator.validate(schema as JsonSchema, input);
        if (!Array.isArray(issues)) throw new TypeError("The validator is not prepared");
        // What cannot be checked is accepted.
        if (issues.every(({ unchecked }) => unchecked))
          return { valid: true, data: input as T, errorMessage: undefined };
        const errorMessage = issues.map(({ path, message }) => `${path} ${message}`).join("; ");
        return { valid: false, data: undefined, errorMessage };
      };
    },
  };
}

/** Adapts a validator of the SDK to {@link SchemaValidatorFactory}. */
export const fromSdkValidator = (provider: jsonSchemaValidator): SchemaValidatorFactory => ({
  compile(schema) {
    const check = provider.getValidator(schema as JsonSchemaType);
    return (value) => {
      const verdict = check(value);
      return verdict.valid ? undefined : [{ path: "$", message: verdict.errorMessage }];
    };
  },
});
