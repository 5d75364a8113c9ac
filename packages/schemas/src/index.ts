/** The entry point `toolport/schemas`: schemas for models, plain lists of parameters, and repaired arguments, without a server. */

export type { JsonSchema } from "@toolport/base";
export { type RepairedArguments, repairArguments } from "./create-validator.js";
export { deriveSchema } from "./derive/derive-schema.js";
export type { DerivedSchema, SchemaChange, SchemaTarget } from "./derive/derived-schema.js";
export { fromParameters, type Parameter, type ParameterType, toParameters } from "./parameters.js";
export type { ArgumentRepair, ValidationIssue } from "./schema-validator.js";
