/** Makes text from a server safe for a terminal, a log line or an error message. */

const ESCAPE_SEQUENCES =
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])|\u009b[0-?]*[ -/]*[@-~]/g;
/** C0 and C1 controls except tab and newline, and characters that reorder or hide text. */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Removes escape sequences and control characters; line endings become `
`. */
export function toPlainText(text: string): string {
  return text.replace(ESCAPE_SEQUENCES, "").replace(/\r\n?/g, "\n").replace(CONTROLS, "");
}
