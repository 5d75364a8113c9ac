/** Checks media in tool results against each provider's published rules. Each check returns its violations. */
// biome-ignore lint/suspicious/noExplicitAny: messages of four APIs, checked by the rules of each
type Body = any;

/** Real decoders reject anything else: https://datatracker.ietf.org/doc/html/rfc4648#section-4 */
const isBase64 = (data: unknown): boolean =>
  typeof data === "string" &&
  data.length > 0 &&
  data.length % 4 === 0 &&
  Buffer.from(data, "base64").toString("base64") === data;

/** The image type of the bytes; undefined: not an image. */
function imageType(data: string): string | undefined {
  const bytes = Buffer.from(data, "base64");
  if (bytes.subarray(0, 4).toString("latin1") === "\x89PNG") return "image/png";
  if (bytes.subarray(0, 3).toString("hex") === "ffd8ff") return "image/jpeg";
  if (bytes.subarray(0, 4).toString("latin1") === "GIF8") return "image/gif";
  return bytes.subarray(8, 12).toString("latin1") === "WEBP" ? "image/webp" : undefined;
}

const isFilled = (text: unknown): boolean => typeof text === "string" && text.trim() !== "";

/**
 * `You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif',
 * 'webp']`: https://platform.openai.com/docs/guides/images-vision#image-input-requirements
 * `The image data you provided does not represent a valid image`: https://github.com/openai/codex/issues/4946
 */
function isOpenAIImage(url: unknown): boolean {
  const match = /^data:(image\/(?:png|jpeg|gif|webp));base64,(.*)$/s.exec(String(url));
  return match !== null && isBase64(match[2]) && imageType(match[2]!) !== undefined;
}

function isPdfUri(url: unknown): boolean {
  const match = /^data:application\/pdf;base64,(.*)$/s.exec(String(url));
  return match !== null && isBase64(match[1]);
}

/** Parts of a user's message: https://platform.openai.com/docs/api-reference/chat/create */
function isChatPart(part: Body): boolean {
  switch (part.type) {
    case "text":
      return isFilled(part.text);
    case "image_url":
      return isOpenAIImage(part.image_url.url);
    case "file":
      return isPdfUri(part.file.file_data) && isFilled(part.file.filename);
    case "input_audio":
      // https://platform.openai.com/docs/guides/audio: wav and mp3 only
      return ["wav", "mp3"].includes(part.input_audio.format) && isBase64(part.input_audio.data);
    default:
      return false;
  }
}

/** Tool messages hold text only: `ChatCompletionToolMessageParam` of https://github.com/openai/openai-node */
export const chatRefusals = (messages: Body[]): string[] =>
  messages.flatMap(({ role, content }) => {
    if (role === "tool") return isFilled(content) ? [] : ["a tool message that is not text"];
    return content.filter((part: Body) => !isChatPart(part)).map((part: Body) => `${part.type} in a message`);
  });

/** Text, images and files: `ResponseFunctionCallOutputItem` of https://github.com/openai/openai-node */
function isResponsesPart(part: Body): boolean {
  if (part.type === "input_text") return isFilled(part.text);
  if (part.type === "input_image") return isOpenAIImage(part.image_url);
  return part.type === "input_file" && isPdfUri(part.file_data) && isFilled(part.filename);
}

export const responsesRefusals = (items: Body[]): string[] =>
  items.flatMap(({ output }) => {
    if (typeof output === "string") return isFilled(output) ? [] : ["an empty output"];
    return output
      .filter((part: Body) => !isResponsesPart(part))
      .map((part: Body) => `${part.type} in an output`);
  });

/**
 * `media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`:
 * https://docs.claude.com/en/docs/build-with-claude/vision
 * `image cannot be empty`: https://github.com/anthropics/claude-code/issues/8947
 * `The image was specified using the image/png media type, but the image appears to be a image/jpeg image`:
 * https://github.com/BerriAI/litellm/issues/24900
 * `all content must be type 'text' if 'is_error' is true`: https://github.com/vellum-ai/vellum-assistant/pull/18387
 */
export function anthropicRefusals(messages: Body[]): string[] {
  const problems: string[] = [];
  const check = (block: Body, isError: boolean) => {
    if (block.type === "tool_result")
      for (const inner of block.content) check(inner, block.is_error === true);
    else if (block.type === "text") isFilled(block.text) || problems.push("an empty text");
    else if (isError) problems.push("an error that is not text");
    else if (block.type === "image") {
      const { data, media_type: type } = block.source;
      const isFine = /^image\/(jpeg|png|gif|webp)$/.test(type) && isBase64(data) && imageType(data) === type;
      isFine || problems.push(`image ${type}`);
    } else if (block.type === "document") isBase64(block.source.data) || problems.push("document");
    else problems.push(`a block ${block.type}`);
  };
  for (const { content } of messages) for (const block of content) check(block, false);
  return problems;
}

/**
 * In a response: https://ai.google.dev/gemini-api/docs/function-calling#multimodal
 * In a content: https://ai.google.dev/gemini-api/docs/image-understanding#supported-formats and
 * https://ai.google.dev/gemini-api/docs/audio#supported-formats
 */
const GEMINI_RESPONSE = /^(image\/(png|jpeg|webp)|application\/pdf|text\/plain)$/;
const GEMINI_CONTENT =
  /^(image\/(png|jpeg|webp|heic|heif)|audio\/(wav|mp3|aiff|aac|ogg|flac)|application\/pdf)$/;

export function geminiRefusals(contents: Body[]): string[] {
  const problems: string[] = [];
  const check = ({ inlineData }: Body, types: RegExp) => {
    const { mimeType, data } = inlineData;
    const isFine =
      types.test(mimeType) && isBase64(data) && (!/^image/.test(mimeType) || imageType(data) === mimeType);
    isFine || problems.push(`inline ${mimeType}`);
  };
  for (const { parts } of contents)
    for (const part of parts) {
      if (part.inlineData) check(part, GEMINI_CONTENT);
      else if (part.functionResponse)
        for (const inner of part.functionResponse.parts ?? []) check(inner, GEMINI_RESPONSE);
      else isFilled(part.text) || problems.push("an empty part");
    }
  return problems;
}

/** What a provider behind a framework would reject: images not listed above, URLs that are not public. */
export function frameworkRefusals(blocks: Body[]): string[] {
  return blocks.flatMap((block: Body) => {
    const { type } = block;
    if (type === "text") return isFilled(block.text) ? [] : ["an empty text"];
    if (type === "image_url") return isOpenAIImage(block.image_url.url) ? [] : ["image_url"];
    if (type === "image-data" || type === "image") return isAnyImage(block) ? [] : [type];
    if (block.source_type === "url") return /^https?:/.test(block.url) ? [] : [`URL ${block.url}`];
    if (block.source_type === "text") return isFilled(block.text) ? [] : ["an empty file"];
    return isBase64(block.data) ? [] : [type];
  });
}

const isAnyImage = ({ data, mediaType, mime_type: mimeType = mediaType }: Body): boolean =>
  isBase64(data) && imageType(data) === mimeType;
