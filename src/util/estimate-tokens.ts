/** An estimate of tokens without a tokenizer. */
import { utf8Length } from "./utf8-length.js";

/** Measured over the definitions of 20 real servers with the encoding o200k; see docs/context.md. */
const BYTES_PER_TOKEN = 4.35;

/** The number of tokens of a text, estimated by its size. */
export const estimateTokens = (text: string): number => tokensOfBytes(utf8Length(text));

export const tokensOfBytes = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);
