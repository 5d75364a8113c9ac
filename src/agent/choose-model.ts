/** Chooses the model of an agent from options and environment variables. */

import { ConfigError } from "../errors/config-error.js";
import { canParseUrl } from "../util/can-parse-url.js";
import { createAnthropicModel } from "./anthropic-model.js";
import { createEndpoint } from "./ask-endpoint.js";
import type { Model } from "./conversation.js";
import { createOpenAIModel, listModels } from "./openai-model.js";

export type ModelApi = "openai" | "anthropic";

export interface ModelChoice {
  /** Base URL of an endpoint, including `/v1`. */
  readonly url?: string | undefined;
  readonly name?: string | undefined;
  /** @default detected from the URL, else from the key */
  readonly api?: ModelApi | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
}

const DEFAULT_URLS: Readonly<Record<ModelApi, string>> = {
  openai: "https://api.openai.com/v1",
  anthropic: "https://api.anthropic.com/v1",
};

const DEFAULT_MODELS: Readonly<Record<ModelApi, string>> = {
  openai: "gpt-5-mini",
  anthropic: "claude-sonnet-4-5",
};

/** Returns undefined if there is neither a URL nor a key. */
export async function chooseModel(choice: ModelChoice): Promise<Model | undefined> {
  const { env, url } = choice;
  const api = choice.api ?? (url === undefined ? apiByKey(env) : apiByUrl(readUrl(url)));
  if (api === undefined) return undefined;
  const [key, home, named] =
    api === "openai"
      ? [env["OPENAI_API_KEY"], env["OPENAI_BASE_URL"], env["OPENAI_MODEL"]]
      : [env["ANTHROPIC_API_KEY"], env["ANTHROPIC_BASE_URL"], env["ANTHROPIC_MODEL"]];
  if (url === undefined && !key) return undefined;
  const base = readUrl(url ?? (home || DEFAULT_URLS[api]));
  const endpoint = createEndpoint(withVersion(base, api), key || undefined);
  const wanted = choice.name ?? (named || undefined);
  if (api === "anthropic") return createAnthropicModel(endpoint, wanted ?? DEFAULT_MODELS.anthropic);
  const isHome = base.host === new URL(DEFAULT_URLS.openai).host;
  if (wanted !== undefined || isHome) return createOpenAIModel(endpoint, wanted ?? DEFAULT_MODELS.openai);
  // Local servers usually have one or two models, and many ignore the name.
  const [first = "default"] = await listModels(endpoint, choice.signal);
  return createOpenAIModel(endpoint, first);
}

function apiByKey(env: ModelChoice["env"]): ModelApi | undefined {
  if (env["OPENAI_API_KEY"]) return "openai";
  return env["ANTHROPIC_API_KEY"] ? "anthropic" : undefined;
}

const apiByUrl = ({ hostname, pathname }: URL): ModelApi =>
  hostname === "api.anthropic.com" || /\/(?:anthropic|messages)\/?/.test(pathname) ? "anthropic" : "openai";

/** Accepts base URLs without the version, as Anthropic's client uses them, and full URLs of the API. */
function withVersion(base: URL, api: ModelApi): URL {
  const url = new URL(base);
  const path = url.pathname.replace(/\/+$/, "").replace(/\/(?:chat\/completions|messages)$/, "");
  const isBare = api === "anthropic" ? !/\/v\d+$/.test(path) : path === "";
  url.pathname = isBare ? `${path}/v1` : path;
  return url;
}

function readUrl(text: string): URL {
  const url = canParseUrl(text) ? new URL(text) : undefined;
  if (url !== undefined && (url.protocol === "http:" || url.protocol === "https:")) return url;
  throw new ConfigError({
    code: "INVALID_CONFIG",
    what: "The URL of the model is not an http or https URL",
    next: "Set it to the base URL of an OpenAI-compatible endpoint, such as http://127.0.0.1:11434/v1",
  });
}
