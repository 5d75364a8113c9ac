/**
 * URI templates (RFC 6570, all four levels). Templates come from servers, so they are parsed character by character and never
 * become a regular expression.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6570
 */

/** Values for the variables of a template. */
export type TemplateArguments = Readonly<Record<string, string | number | boolean | readonly string[]>>;

interface Variable {
  readonly name: string;
  /** `{name*}`: a list is expanded item by item. */
  readonly explode: boolean;
  /** `{name:3}`: only the first characters. */
  readonly prefix?: number | undefined;
}

interface Expression {
  readonly operator: string;
  readonly variables: readonly Variable[];
}

interface OperatorRules {
  readonly first: string;
  readonly separator: string;
  readonly named?: boolean;
  /** Written after the name of an empty value. */
  readonly ifEmpty?: string;
  /** Reserved characters are not encoded. */
  readonly reserved?: boolean;
}

const OPERATORS: Readonly<Record<string, OperatorRules>> = {
  "": { first: "", separator: "," },
  "+": { first: "", separator: ",", reserved: true },
  "#": { first: "#", separator: ",", reserved: true },
  ".": { first: ".", separator: "." },
  "/": { first: "/", separator: "/" },
  ";": { first: ";", separator: ";", named: true },
  "?": { first: "?", separator: "&", named: true, ifEmpty: "=" },
  "&": { first: "&", separator: "&", named: true, ifEmpty: "=" },
};

const MAX_LENGTH = 10_000;
const MAX_PREFIX = 10_000;
const VARIABLE = /^[A-Za-z0-9_%][A-Za-z0-9_%.-]*$/;

/** Undefined if the template is invalid. */
export function parseUriTemplate(template: string) {
  if (template.length > MAX_LENGTH) return undefined;
  const parts: (string | Expression)[] = [];
  for (let index = 0; index < template.length; ) {
    const start = template.indexOf("{", index);
    const text = template.slice(index, start === -1 ? undefined : start);
    if (text.includes("}")) return undefined;
    parts.push(text);
    if (start === -1) break;
    const end = template.indexOf("}", start);
    const expression = end === -1 ? undefined : parseExpression(template.slice(start + 1, end));
    if (expression === undefined) return undefined;
    parts.push(expression);
    index = end + 1;
  }
  const expressions = parts.filter((part) => typeof part !== "string");
  const namesOf = (some: readonly Expression[]) => [
    ...new Set(some.flatMap(({ variables }) => variables.map(({ name }) => name))),
  ];
  return {
    /** All variables, each once, in the order of the template. */
    names: namesOf(expressions),
    /** Required variables: all except those of a query. */
    required: namesOf(expressions.filter(({ operator }) => operator !== "?" && operator !== "&")),
    expand: (args: TemplateArguments): string =>
      parts.map((part) => (typeof part === "string" ? part : expandExpression(part, args))).join(""),
  };
}

function parseExpression(text: string): Expression | undefined {
  const operator = text !== "" && text[0]! in OPERATORS ? text[0]! : "";
  const variables = text.slice(operator.length).split(",").map(parseVariable);
  return variables.includes(undefined) ? undefined : { operator, variables: variables as Variable[] };
}

function parseVariable(text: string): Variable | undefined {
  const explode = text.endsWith("*");
  const [name = "", length, ...rest] = (explode ? text.slice(0, -1) : text).split(":");
  if (!VARIABLE.test(name) || rest.length > 0) return undefined;
  if (length === undefined) return { name, explode };
  const prefix = Number(length);
  const isGood = Number.isInteger(prefix) && prefix > 0 && prefix < MAX_PREFIX && !explode;
  return isGood ? { name, explode, prefix } : undefined;
}

function expandExpression({ operator, variables }: Expression, args: TemplateArguments): string {
  const rules = OPERATORS[operator]!;
  const written = variables.flatMap((variable) => {
    const value = Object.hasOwn(args, variable.name) ? args[variable.name] : undefined;
    return value === undefined ? [] : expandVariable(variable, value, rules);
  });
  return written.length === 0 ? "" : rules.first + written.join(rules.separator);
}

function expandVariable(
  { name, explode, prefix }: Variable,
  value: TemplateArguments[string],
  { named, ifEmpty = "", reserved = false }: OperatorRules,
): string[] {
  const encode = (text: string): string => (reserved ? encodeReserved(text) : encodeUnreserved(text));
  const label = (text: string): string => (!named ? text : `${name}${text === "" ? ifEmpty : `=${text}`}`);
  if (!Array.isArray(value)) {
    const text = String(value);
    return [label(encode(prefix === undefined ? text : [...text].slice(0, prefix).join("")))];
  }
  if (value.length === 0) return [];
  const items = (value as readonly string[]).map((item) => encode(String(item)));
  return explode ? items.map(label) : [label(items.join(","))];
}

/** A lone surrogate cannot be encoded. */
const wellFormed = (text: string): string => text.replace(/\p{Cs}/gu, "\ufffd");

/** Everything but letters, digits and `-._~`. */
const encodeUnreserved = (text: string): string =>
  encodeURIComponent(wellFormed(text)).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** Reserved characters and existing escapes stay. */
const encodeReserved = (text: string): string =>
  encodeURI(wellFormed(text))
    .replace(/%5B/g, "[")
    .replace(/%5D/g, "]")
    .replace(/%25([0-9A-Fa-f]{2})/g, "%$1");
