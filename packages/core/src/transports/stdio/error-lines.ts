/** Finds the lines in a program's stderr that say why it failed, among stack frames, source excerpts and footers. */

const MAX_LINES = 3;
/** Maximum number of lines after the last error. */
const MAX_CLOSING_LINES = 2;
const MAX_LINE_LENGTH = 300;
/** Longer lines are cut off before they are read. */
const MAX_READ_LENGTH = 2_000;
/** Maximum number of lines of one message, before its first stack frame. */
const MAX_MESSAGE_LINES = 40;

/** Stack frames of Node, Deno, Bun, Java, .NET, Ruby and Go. */
const FRAMES = [
  /^\s+at \S/,
  /^\s+\.\.\. \d+ more$/,
  /^\s+from \S+:\d+:in /,
  /^goroutine \d+ \[/,
  /^created by \S/,
  /^[\w./-]+\.[\w.*()]+\(.*\)$/,
  /^\t\S+:\d+(?: \+0x[\da-f]+)?$/,
];
/** What runtimes and package managers print around an error. */
const NOISE = [
  /^Node\.js v\d/,
  /^Bun v\d/,
  /^\(Use `node --trace-/,
  /^note: (?:run with|Some details)/,
  /^npm (?:notice|warn)\b/i,
  /^npm (?:error|ERR!)(?:\s*$| A complete log of this run)/,
  /^exit status \d+$/,
  // The location of a source excerpt.
  /^(?:file:|node:|\/|[A-Za-z]:[\\/]).*:\d+$/,
];
const CARET = /^\s*[\^~][\^~\s]*$/;
/** The end of the properties that Node prints after a stack. */
const CLOSING_BRACKET = /^\s*[}\]],?$/;
/** The first line of an error. */
const ERROR =
  /(?:^|[\s([:"'])(?:[A-Za-z_$][\w$.]*)?(?:Error|Exception)(?: \[\w+\])?(?::|\s*$)|^(?:error|fatal): |\bUncaught |^Caused by: |UnhandledPromiseRejection/;
const TRACEBACK = /^(?:Exception Group )?Traceback \(most recent call last\):/;
/** The border that Python draws around exception groups. */
const GROUP_RULE = /^\s*\+[-+]+(?: \d+ -+)?$/;
const GROUP_EDGE = /^\s+(?:\| ?|\+ (?=Exception Group))/;
const BACKTRACE = "stack backtrace:";
const RUST_PANIC = /^thread '.*' .*panicked at /;
const GO_PANIC = /^(?:panic|fatal error): /;
const BOILERPLATE = /This error originated either by .*? was not handled with \.catch\(\)\. /;

interface Finding {
  readonly text: string;
  readonly isError: boolean;
}

/**
 * The few lines that say why a program failed: the messages of its errors and their causes, and the last lines after them.
 * Without an error, the last three lines.
 */
export function errorLines(text: string): string[] {
  const findings = new StderrReader(text).read();
  const last = findings.findLastIndex(({ isError }) => isError);
  const after = findings.slice(last + 1).map(({ text: line }) => line);
  if (last === -1) return after.slice(-MAX_LINES);
  const errors = new Set(findings.filter(({ isError }) => isError).map(({ text: line }) => line));
  const closing = after.slice(-MAX_CLOSING_LINES);
  return [...[...errors].slice(closing.length === 0 ? -MAX_LINES : -2), ...closing];
}

class StderrReader {
  readonly #lines: readonly string[];
  readonly #findings: Finding[] = [];
  #position = 0;

  constructor(text: string) {
    const lines = text
      .split("\n")
      .map((line) => line.slice(0, MAX_READ_LENGTH).trimEnd())
      .map((line) => (GROUP_RULE.test(line) ? "" : line.replace(GROUP_EDGE, "")));
    // A source excerpt is a line of code above its caret.
    this.#lines = lines.map((line, index) => {
      const isExcerpt = CARET.test(line) || CARET.test(lines[index + 1] ?? "");
      return isExcerpt || NOISE.some((pattern) => pattern.test(line)) ? "" : line;
    });
  }

  read(): readonly Finding[] {
    while (this.#position < this.#lines.length) this.#readNext();
    return this.#findings;
  }

  #readNext(): void {
    const line = this.#at(this.#position);
    if (line === "" || CLOSING_BRACKET.test(line)) this.#position += 1;
    else if (TRACEBACK.test(line)) this.#readTraceback();
    else if (RUST_PANIC.test(line)) this.#readRustPanic(line);
    else if (GO_PANIC.test(line)) this.#addError(this.#until((next) => next === ""));
    else if (isFrame(line)) this.#skipFrames();
    else this.#readText(line);
  }

  #at(position: number): string {
    return this.#lines[position] ?? "";
  }

  /** Python: indented frames, then the error. */
  #readTraceback(): void {
    this.#position += 1;
    while (this.#position < this.#lines.length && /^(?:\s|$)/.test(this.#at(this.#position)))
      this.#position += 1;
    this.#addError(this.#until((line) => line === "" || TRACEBACK.test(line)));
  }

  /** Rust: the message is on the next line, or in quotation marks on the same line. */
  #readRustPanic(line: string): void {
    if (line.endsWith(":")) this.#position += 1;
    this.#addError(this.#until((next) => next === "" || next === BACKTRACE));
    if (this.#at(this.#position) !== BACKTRACE) return;
    this.#position += 1;
    this.#until((next) => !/^\s+(?:\d+: |at )/.test(next));
  }

  #readText(line: string): void {
    const isStart = ERROR.test(line);
    const end = this.#endOfMessage();
    if (isStart) {
      const lines = end === undefined ? [line] : this.#lines.slice(this.#position, end);
      this.#position += lines.length;
      return this.#addError(lines);
    }
    this.#position += 1;
    this.#findings.push({ text: oneLine([line]), isError: end === this.#position });
  }

  /** The line on which the stack of the current error starts; undefined if it has none. */
  #endOfMessage(): number | undefined {
    for (let end = this.#position + 1; end <= this.#position + MAX_MESSAGE_LINES; end += 1) {
      const line = this.#at(end);
      if (isFrame(line)) return end;
      if (ERROR.test(line) || TRACEBACK.test(line)) return undefined;
    }
    return undefined;
  }

  /** Skips the frames and the properties that Node prints after them. Errors among the properties (`[cause]`) are not skipped. */
  #skipFrames(): void {
    let hasProperties = false;
    while (isFrame(this.#at(this.#position))) {
      hasProperties = this.#at(this.#position).endsWith("{");
      this.#position += 1;
    }
    if (!hasProperties) return;
    for (; this.#position < this.#lines.length; this.#position += 1) {
      const line = this.#at(this.#position);
      if (line === "" || (ERROR.test(line) && this.#endOfMessage() !== undefined)) return;
    }
  }

  /** The lines from the current position to the first one that matches, without it. */
  #until(isEnd: (line: string) => boolean): string[] {
    const start = this.#position;
    while (this.#position < this.#lines.length && !isEnd(this.#at(this.#position))) this.#position += 1;
    return this.#lines.slice(start, this.#position);
  }

  #addError(lines: readonly string[]): void {
    const text = oneLine(lines);
    if (text !== "") this.#findings.push({ text, isError: true });
  }
}

const isFrame = (line: string): boolean => FRAMES.some((pattern) => pattern.test(line));

function oneLine(lines: readonly string[]): string {
  const text = lines
    .join(" ")
    .replace(/\s+/g, " ")
    .replace(BOILERPLATE, "")
    .replace(/ [{[]$/, "")
    .trim();
  return text.length > MAX_LINE_LENGTH ? `${text.slice(0, MAX_LINE_LENGTH)}…` : text;
}
