/** A tool, resource or prompt that does not exist or must not be used. */
import { ToolportError, type ToolportErrorInit } from "./toolport-error.js";

export type CatalogErrorCode =
  | "TOOL_NOT_FOUND"
  | "RESOURCE_NOT_FOUND"
  | "PROMPT_NOT_FOUND"
  | "NOT_OFFERED"
  | "TOOL_WITHHELD"
  | "DISCOVERY_FAILED"
  | "TOOL_CHANGED"
  | "REQUIRED_TOOLS_MISSING";

/** Thrown when a tool, resource or prompt is not in the catalog or cannot be offered. */
export class CatalogError extends ToolportError<CatalogErrorCode> {
  static override readonly kind = "CatalogError";
  override readonly name = "CatalogError";
  /** Names similar to the requested one. */
  readonly suggestions: readonly string[];
  /** Why a tool is withheld. */
  readonly reason?: string | undefined;
  /** Required names that are missing. */
  readonly missing: readonly string[];

  constructor(
    init: ToolportErrorInit<CatalogErrorCode> & {
      suggestions?: readonly string[] | undefined;
      reason?: string | undefined;
      missing?: readonly string[] | undefined;
    },
  ) {
    super({ outcome: "unsent", ...init });
    this.suggestions = init.suggestions ?? [];
    this.reason = init.reason;
    this.missing = init.missing ?? [];
  }
}
