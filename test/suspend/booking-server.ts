/** A server whose tools need a person: it counts the requests and the bookings that it really makes. */
import { inputRequired, ProtocolError } from "@modelcontextprotocol/server";
import { createTestServer, type TestServer } from "toolport/testing";

/** The form of the first question. */
export const seatForm = {
  message: "Which seat?",
  requestedSchema: {
    type: "object",
    properties: { seat: { type: "string", minLength: 2 }, meal: { type: "string", default: "none" } },
    required: ["seat"],
  },
} as const;

const payForm = {
  message: "Pay now?",
  requestedSchema: { type: "object", properties: { pay: { type: "boolean" } }, required: ["pay"] },
} as const;

interface Bookings {
  /** Number of `tools/call` requests. */
  requests: number;
  /** Bookings that were made. */
  booked: unknown[];
}

export interface BookingServer {
  readonly server: TestServer;
  readonly seen: Bookings;
}

type Responses = Readonly<Record<string, { action: string; content?: Readonly<Record<string, unknown>> }>>;

/** `book` asks once, `tour` asks twice, `note` asks nothing. */
export function createBookingServer({
  era = "modern" as const,
  description = "Books a flight",
} = {}): BookingServer {
  const seen: Bookings = { requests: 0, booked: [] };
  const inputSchema = { type: "object", properties: { to: { type: "string" } }, required: ["to"] } as const;
  const server = createTestServer({
    era,
    tools: {
      book: {
        description,
        inputSchema,
        handler({ to }, { request }) {
          seen.requests += 1;
          const { seat } = (request.mcpReq.inputResponses ?? {}) as Responses;
          if (seat === undefined)
            return inputRequired({
              inputRequests: { seat: inputRequired.elicit(seatForm as never) },
              requestState: `state of ${to}`,
            });
          if (seat.action !== "accept") return `not booked: ${seat.action}`;
          seen.booked.push({ to, ...seat.content });
          return `booked ${to}, seat ${seat.content?.["seat"]}, meal ${seat.content?.["meal"]}`;
        },
      },
      tour: {
        inputSchema,
        handler({ to }, { request }) {
          seen.requests += 1;
          const { seat, pay } = (request.mcpReq.inputResponses ?? {}) as Responses;
          if (seat === undefined && pay === undefined)
            return inputRequired({
              inputRequests: { seat: inputRequired.elicit(seatForm as never) },
              requestState: "1",
            });
          if (pay === undefined)
            return inputRequired({
              inputRequests: { pay: inputRequired.elicit(payForm as never) },
              requestState: JSON.stringify(seat!.content),
            });
          seen.booked.push({ to });
          return `toured ${to}`;
        },
      },
      break: {
        inputSchema,
        handler() {
          seen.requests += 1;
          throw new ProtocolError(-32603, "out of order");
        },
      },
      note: {
        inputSchema,
        handler({ to }) {
          seen.requests += 1;
          seen.booked.push({ to });
          return `noted ${to}`;
        },
      },
    },
  });
  return { server, seen };
}
