/** The sizes that strict mode takes: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas */
import { isObject } from "../json-schema.js";

const MAX_LEVELS = 10;
const MAX_PROPERTIES = 5_000;
const MAX_ENUM_VALUES = 1_000;
const MAX_TEXT = 120_000;
/** A long list of texts may not be long in characters too. */
const LONG_ENUM = 250;
const MAX_LONG_ENUM_TEXT = 15_000;

/** Why a schema is too large for strict mode; undefined: it is not. */
export function exceedsStrictLimits(schema: unknown): string | undefined {
  const total = { properties: 0, values: 0, text: 0, levels: 0, longEnum: false };
  measure(schema, 0, total);
  if (total.levels > MAX_LEVELS) return `nested deeper than ${MAX_LEVELS} levels`;
  if (total.properties > MAX_PROPERTIES) return `more than ${MAX_PROPERTIES} properties`;
  if (total.values > MAX_ENUM_VALUES) return `more than ${MAX_ENUM_VALUES} listed values`;
  if (total.longEnum)
    return `more than ${LONG_ENUM} listed values of more than ${MAX_LONG_ENUM_TEXT} characters`;
  return total.text > MAX_TEXT ? `names and listed values of more than ${MAX_TEXT} characters` : undefined;
}

interface Totals {
  properties: number;
  values: number;
  text: number;
  levels: number;
  longEnum: boolean;
}

function measure(schema: unknown, level: number, total: Totals): void {
  if (!isObject(schema)) return;
  const values = Array.isArray(schema["enum"]) ? schema["enum"] : [];
  const text = values.reduce((sum: number, value) => sum + String(value).length, 0);
  total.values += values.length;
  total.text += text;
  if (values.length > LONG_ENUM && text > MAX_LONG_ENUM_TEXT) total.longEnum = true;
  const properties = isObject(schema["properties"]) ? Object.entries(schema["properties"]) : undefined;
  // Lists count as a level as well: the documentation does not say, and one level too few is the safe side.
  const inside = properties !== undefined || schema["items"] !== undefined ? level + 1 : level;
  total.levels = Math.max(total.levels, inside);
  for (const [name, property] of properties ?? []) {
    total.properties++;
    total.text += name.length;
    measure(property, inside, total);
  }
  measure(schema["items"], inside, total);
  if (Array.isArray(schema["anyOf"])) for (const item of schema["anyOf"]) measure(item, level, total);
}
