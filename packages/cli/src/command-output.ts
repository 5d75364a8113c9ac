/** What commands print: data in the form that the user wants on stdout, messages and a spinner on stderr. */
import type { Readable, Writable } from "node:stream";
import { CliError } from "./errors.js";
import { formatTable, type TableColumn } from "./format-table.js";
import {
  type Colour,
  cell,
  choosePaint,
  oneLine,
  type Paint,
  plainJson,
  plainLine,
  plainText,
} from "./plain-text.js";

export type CommandOutput = ReturnType<typeof createOutput>["output"];

/** Streams of the process. */
export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
}

/** Output format of data. */
type OutputForm = "text" | "json" | "raw";

/** The options that decide about the output. */
interface OutputOptions {
  readonly command: { readonly name: string };
  flag(option: string): boolean;
  text(option: string): string | undefined;
}

interface PrintedList {
  readonly document: unknown;
  readonly names: readonly string[];
  readonly titles: readonly (string | TableColumn)[];
  readonly rows: readonly (readonly unknown[])[];
  /** What is said of an empty list. */
  readonly none: string;
}

/** What a command prints, in the form that its options ask for. */
export function createOutput(
  invocation: OutputOptions,
  { env, stdout, stderr }: Streams & { readonly env: Readonly<Record<string, string | undefined>> },
  isInShell: boolean,
) {
  const form = readForm(invocation);
  const isQuiet = invocation.flag("quiet");
  const isVerbose = invocation.flag("verbose");
  const isPlain = invocation.flag("no-color") || form !== "text";
  const canMoveCursor = stderr.isTTY === true && env["TERM"] !== "dumb";
  const spinner = createSpinner(canMoveCursor && form !== "json" && !isQuiet ? stderr : undefined);
  const paint = choosePaint(stdout, env, isPlain);
  const paintStderr = choosePaint(stderr, env, isPlain);
  const columns = stdout.isTTY === true ? stdout.columns || undefined : undefined;
  const write = (text: string | Uint8Array) => {
    spinner.clear();
    stdout.write(text);
  };
  const output = {
    form,
    isQuiet,
    isVerbose,
    paint,
    /** Width of the terminal that shows stdout; undefined if it is none. */
    columns,
    /** Prints data on stdout. Control characters are escaped, unless the form is raw and stdout is not a terminal. */
    print: (text: string): void =>
      write(`${form === "raw" && stdout.isTTY !== true ? text : plainText(text)}\n`),
    /** Prints lines whose texts were escaped before they were coloured. */
    printPainted: (lines: readonly string[]): void => write(lines.map((text) => `${text}\n`).join("")),
    /** Prints a table: escapes every cell to one line, with the first column in bold. */
    printRows(titles: readonly (string | TableColumn)[], rows: readonly (readonly unknown[])[]): void {
      const toColumn = (title: string | TableColumn) => (typeof title === "string" ? { title } : title);
      const head = titles.map(toColumn).map((column) => ({ ...column, title: paint("dim", column.title) }));
      const paintRow = ([first, ...rest]: readonly unknown[]) => [
        paint("bold", cell(first)),
        ...rest.map(cell),
      ];
      output.printPainted(formatTable(head, rows.map(paintRow), columns));
    },
    /** Prints a list in the form that the user wants: a document, one name on each line, or a table. */
    printList({ document, names, titles, rows, none }: PrintedList): void {
      if (form === "json") output.printJson(document);
      else if (form === "raw") for (const name of names) output.print(plainLine(name));
      else if (rows.length === 0) output.info(none);
      else output.printRows(titles, rows);
    },
    /** Prints the JSON document of a command with `--json`. With `isLine`: one line of NDJSON. */
    printJson(value: unknown, { isLine = isInShell }: { isLine?: boolean } = {}): undefined {
      write(`${plainJson(value, isLine ? undefined : 2)}\n`);
    },
    /** Writes bytes unchanged to stdout. Throws if stdout is a terminal. */
    async printBytes(bytes: Uint8Array): Promise<void> {
      if (stdout.isTTY === true)
        throw new CliError(
          "The result is binary data, which a terminal cannot show. Write it to a file",
          `toolport ${invocation.command.name} … --output raw > file`,
          { code: "BINARY_OUTPUT" },
        );
      write(bytes);
    },
    ...createMessages({ form, isQuiet, isVerbose }, paintStderr, { stderr, spinner }),
  };
  return { output, spinner };
}

/** What a command prints on stderr. */
function createMessages(
  { form, isQuiet, isVerbose }: { form: OutputForm; isQuiet: boolean; isVerbose: boolean },
  paint: Paint,
  { stderr, spinner }: Pick<Streams, "stderr"> & { spinner: ReturnType<typeof createSpinner> },
) {
  const messages = {
    /**
     * Prints messages that are not data on stderr, one array element per line. Line breaks inside a line are escaped.
     * Prints nothing with `--json` unless `--verbose` is given: stderr then contains errors only.
     */
    info(lines: string | readonly string[], colour?: Colour): void {
      if (form === "json" && !isVerbose) return;
      spinner.clear();
      const text = (typeof lines === "string" ? [lines] : lines).map(plainLine).join("\n");
      stderr.write(`${colour === undefined ? text : paint(colour, text)}\n`);
    },
    /** Like `info`, with the prefix `warning:`. Prints nothing with `--quiet`. */
    warn(lines: string | readonly string[]): void {
      const [first, ...rest] = typeof lines === "string" ? [lines] : lines;
      if (!isQuiet) messages.info([`warning: ${first}`, ...rest], "yellow");
    },
    /** Shows a spinner on a terminal while `run` works; it may change the text. */
    progress: spinner.run,
  };
  return messages;
}

function readForm(invocation: OutputOptions): OutputForm {
  const output = invocation.text("output") as OutputForm | undefined;
  if (!invocation.flag("json")) return output ?? "text";
  if (output === undefined || output === "json") return "json";
  throw new CliError(
    `--json and --output ${output} contradict each other`,
    `toolport ${invocation.command.name} --json`,
  );
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 80;
const ERASE_LINE = "\r\u001b[2K";

/** @param stream undefined: draws nothing */
function createSpinner(stream: Streams["stderr"] | undefined) {
  let text: string | undefined;
  let frame = 0;
  let isDrawn = false;
  let isPaused = false;

  /** Erases the line before other output; the next frame draws it again. */
  const clear = () => {
    if (isDrawn) stream?.write(ERASE_LINE);
    isDrawn = false;
  };
  const draw = () => {
    if (stream === undefined || text === undefined || isPaused) return;
    frame = (frame + 1) % FRAMES.length;
    const line = oneLine(text, Math.max(10, (stream.columns || 80) - 3));
    stream.write(`${ERASE_LINE}${FRAMES[frame]} ${line}`);
    isDrawn = true;
  };
  return {
    clear,
    /** Hides the line, while the user answers a question. */
    pause(isHidden: boolean) {
      isPaused = isHidden;
      clear();
    },
    async run<Result>(title: string, work: (update: (text: string) => void) => Promise<Result>) {
      if (stream === undefined) return work(() => {});
      const around = text;
      text = title;
      const timer = setInterval(draw, FRAME_MS).unref();
      draw();
      try {
        return await work((next) => {
          text = next;
        });
      } finally {
        clearInterval(timer);
        text = around;
        clear();
      }
    },
  };
}
