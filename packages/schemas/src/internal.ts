/** What other packages of this repository need of `schemas`, and programs do not. */
export { applyDefaults } from "./apply-defaults.js";
export { sayUnchecked, toolProblem, uncheckedParts } from "./check-schema.js";
export { createSchemaValidator, createSdkValidator, fromSdkValidator } from "./create-validator.js";
export {
  type CompactOptions,
  compactSchema,
  descriptionChange,
  readCompact,
  type WithCompact,
} from "./derive/compact-schema.js";
export { SCHEMA_TARGETS, type SchemaChangeKind } from "./derive/derived-schema.js";
export {
  derivedSchemaOf,
  OfferedTool,
  type SchemaForm,
  type SchemaFormOptions,
  targetOf,
  withSourceSchema,
} from "./derive/offered-tool.js";
export { escapeToken, resolveLocalRef } from "./json-schema.js";
export { isSameJson, setKey } from "./json-value.js";
export type { SchemaValidator, SchemaValidatorFactory } from "./schema-validator.js";
export {
  comment,
  createTypeWriter,
  indent,
  literal,
  memberName,
  NameSet,
  propertyName,
  type TypeStyle,
  typeName,
  wordsOf,
} from "./typescript.js";
