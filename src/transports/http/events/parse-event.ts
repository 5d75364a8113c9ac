/** The fields of one server-sent event. */

export interface ServerEvent {
  /** Empty or `message` for messages. */
  readonly type: string;
  /** Undefined where there is no `data` field at all. */
  readonly data: string | undefined;
  readonly id: string | undefined;
  readonly retryMs: number | undefined;
}

const decoder = new TextDecoder();

/** @param bytes one event, with its empty line */
export function parseEvent(bytes: Uint8Array): ServerEvent {
  let text = decoder.decode(bytes);
  if (text.includes("\r")) text = text.replace(/\r\n?/g, "\n");
  let type = "";
  let data: string | undefined;
  let id: string | undefined;
  let retryMs: number | undefined;
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline === -1 ? text.length : newline;
    const colon = text.indexOf(":", start);
    const nameEnd = colon === -1 || colon > end ? end : colon;
    // One space after the colon belongs to the colon.
    const valueStart = nameEnd + (text[nameEnd + 1] === " " ? 2 : 1);
    const value = valueStart < end ? text.slice(valueStart, end) : "";
    switch (text.slice(start, nameEnd)) {
      case "data":
        data = data === undefined ? value : `${data}\n${value}`;
        break;
      case "event":
        type = value;
        break;
      case "id":
        if (!value.includes("\0")) id = value;
        break;
      case "retry":
        if (/^\d+$/.test(value)) retryMs = Number(value);
        break;
    }
    start = end + 1;
  }
  return { type, data, id, retryMs };
}
