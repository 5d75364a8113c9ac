/** From the schema a server published to the one a provider accepts. */
export { deriveSchema } from "./derive-schema.js";
export type { DerivedSchema, SchemaChange, SchemaChangeKind, SchemaTarget } from "./derived-schema.js";
