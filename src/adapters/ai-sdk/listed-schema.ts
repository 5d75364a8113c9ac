/** Schemas of listed tools as objects of the AI SDK. */
import type { Schema } from "ai";

type Ai = typeof import("ai");
type JsonSchemaText = Record<string, unknown>;

/**
 * Like `ai.jsonSchema(make)`, for thousands of tools and for version 5, which takes no function: an object of `ai.jsonSchema` has a getter
 * of its own, so every one costs a hidden class. Here all objects share one getter, and have the AI SDK's own object as prototype.
 */
export function listedSchemas(ai: Ai): (make: () => JsonSchemaText) => Schema {
  class ListedSchema {
    #make: () => JsonSchemaText;
    #made: JsonSchemaText | undefined;

    constructor(make: () => JsonSchemaText) {
      this.#make = make;
    }

    get jsonSchema(): JsonSchemaText {
      this.#made ??= this.#make();
      return this.#made;
    }
  }
  Object.setPrototypeOf(ListedSchema.prototype, ai.jsonSchema({}));
  return (make) => new ListedSchema(make) as unknown as Schema;
}
