/** Resolves the inputs of a registry entry from the user's values and the publisher's defaults. */
import { orMeant } from "@toolport/base";
import type { ServerInput, TemplateInput } from "./server-json.js";

/** The user's value for an input; an array for a repeatable input. */
export type InputValue = string | number | boolean | readonly (string | number | boolean)[];

/** Where the value of an input is used. */
export type InputPlace = "environment" | "header" | "url" | "argument" | "runtimeArgument";

/** An input that the user can set. */
export interface RegistryInput {
  /** Its key in `inputs`. */
  readonly name: string;
  readonly where: InputPlace;
  readonly description: string | undefined;
  readonly isRequired: boolean;
  /** Keep it out of logs and files. */
  readonly isSecret: boolean;
  readonly format: NonNullable<ServerInput["format"]>;
  readonly default: string | undefined;
  readonly placeholder: string | undefined;
  readonly choices: readonly string[] | undefined;
  /** Why the given value is invalid. */
  readonly problem?: string | undefined;
}

/** How one input is used. */
export interface InputUse {
  readonly where: InputPlace;
  readonly isRequired: boolean;
  /** Accepts an array. @default false */
  readonly isRepeated?: boolean | undefined;
  /** A positional argument, which a leading dash would turn into an option. @default false */
  readonly isBare?: boolean | undefined;
}

function problemOf(text: string, input: ServerInput, { where, isBare }: InputUse): string | undefined {
  const { choices = [], format } = input;
  if (choices.length > 0 && !choices.includes(text)) return `must be one of ${choices.join(", ")}`;
  if (format === "number" && !/^-?\d+(?:\.\d+)?$/.test(text)) return "must be a number";
  if (format === "boolean" && text !== "true" && text !== "false") return "must be true or false";
  if (text.includes("\0")) return "must not contain a NUL character";
  if (where === "header" && /[\r\n]/.test(text)) return "must not contain line breaks";
  if (isBare === true && format !== "number" && text.startsWith("-")) {
    return 'must not start with "-", because it would be an option';
  }
  return undefined;
}

/** Resolves the inputs of one server and records missing ones. */
export class InputResolver {
  readonly #inputs = new Map<string, RegistryInput>();
  readonly #missing = new Set<string>();
  readonly #secrets = new Set<string>();
  readonly warnings: string[] = [];

  /** @param values those of the user, by the names of inputs */
  constructor(private readonly values: Readonly<Record<string, InputValue>>) {}

  /** All inputs that the user can set, in order of appearance. */
  get inputs(): RegistryInput[] {
    return [...this.#inputs.values()];
  }

  /** Inputs that must be set before the server can be used. */
  get missing(): RegistryInput[] {
    return this.inputs.filter(({ name }) => this.#missing.has(name));
  }

  given(name: string): InputValue | undefined {
    return Object.hasOwn(this.values, name) ? this.values[name] : undefined;
  }

  /** Whether a text contains the value of a secret input. */
  containsSecret(text: string): boolean {
    return [...this.#secrets].some(
      (secret) => text.includes(secret) || text.includes(encodeURIComponent(secret)),
    );
  }

  /** The values of an input; undefined if there are none. A required input is then recorded as missing. */
  valuesOf(name: string, input: ServerInput, use: InputUse): readonly string[] | undefined {
    if (input.value !== undefined) return [input.value];
    const given = this.given(name);
    const values = (Array.isArray(given) ? given : [given]).filter(
      (value) => value !== undefined && value !== "",
    );
    const texts = values.map(String);
    let problem = texts.map((text) => problemOf(text, input, use)).find((found) => found !== undefined);
    if (texts.length > 1 && use.isRepeated !== true) problem = "accepts only one value";
    this.#note(name, input, { ...use, problem });
    if (problem !== undefined) this.#missing.add(name);
    if (problem !== undefined || texts.length > 0) {
      if (input.isSecret === true) for (const text of texts) this.#secrets.add(text);
      return problem === undefined ? texts : undefined;
    }
    return this.#defaultOf(name, input, use);
  }

  /** The default value, unless it violates the rules of the input. */
  #defaultOf(name: string, input: ServerInput, use: InputUse): readonly string[] | undefined {
    const text = input.default;
    if (text !== undefined && text !== "") {
      const problem = problemOf(text, input, { ...use, isBare: false });
      if (problem === undefined) return [text];
      this.warnings.push(`The default of ${name} is not used: it ${problem}`);
    }
    if (use.isRequired) this.#missing.add(name);
    return undefined;
  }

  #note(name: string, input: ServerInput, use: InputUse & { problem: string | undefined }): void {
    const before = this.#inputs.get(name);
    this.#inputs.set(name, {
      name,
      where: before?.where ?? use.where,
      description: before?.description ?? input.description,
      isRequired: (before?.isRequired ?? false) || use.isRequired,
      isSecret: (before?.isSecret ?? false) || input.isSecret === true,
      format: input.format ?? "string",
      default: input.default,
      placeholder: input.placeholder,
      choices: input.choices,
      ...(use.problem === undefined ? {} : { problem: use.problem }),
    });
  }

  /** The values of an input whose `value` may be a template. */
  resolve(name: string, input: TemplateInput, use: InputUse): readonly string[] | undefined {
    const { value, variables } = input;
    return value === undefined ? this.valuesOf(name, input, use) : this.fill(value, variables, use);
  }

  /**
   * Expands a template, once per value if its variables have several. Undeclared names in braces stay unchanged. Returns
   * undefined if a declared variable has no value.
   */
  fill(
    template: string,
    variables: Readonly<Record<string, ServerInput>>,
    { encode = (text) => text, ...use }: InputUse & { encode?: (text: string, at: number) => string },
  ): readonly string[] | undefined {
    const names = [...template.matchAll(PLACEHOLDER)].map(([, name = ""]) => name);
    const values = new Map<string, readonly string[] | undefined>();
    for (const name of new Set(names)) {
      const input = Object.hasOwn(variables, name) ? variables[name] : undefined;
      if (input === undefined) continue;
      const isRequired = input.isRequired ?? use.isRequired;
      values.set(name, this.valuesOf(name, input, { ...use, isRequired, isBare: false }));
    }
    const lists = [...values.values()];
    if (lists.includes(undefined)) return undefined;
    const count = Math.max(1, ...lists.map((list) => list?.length ?? 0));
    if (lists.some((list) => list?.length !== 1 && list?.length !== count)) {
      this.warnings.push(`${[...values.keys()].join(" and ")} have different numbers of values`);
      for (const name of values.keys()) this.#missing.add(name);
      return undefined;
    }
    return Array.from({ length: count }, (_, index) =>
      template.replace(PLACEHOLDER, (whole, name: string, at: number) => {
        const list = values.get(name);
        const text = list?.length === 1 ? list[0] : list?.[index];
        return text === undefined ? whole : encode(text, at);
      }),
    );
  }

  /** Warns about given names that are not inputs of this source. */
  reportUnused(): void {
    for (const name of Object.keys(this.values))
      if (!this.#inputs.has(name))
        this.warnings.push(`There is no input "${name}"${orMeant(name, this.#inputs.keys())}`);
  }
}

/** A name in braces, such as `{name}` or `{--port}`. */
const PLACEHOLDER = /\{([^{}\s]{1,200})\}/g;
