/** Types of the JSON that the page and its server exchange, taken from the code that makes it. */
import type { ElicitationRequest } from "@toolport/core";
import type { createActions } from "./actions.js";
import type { Programs } from "./programs.js";

export type { StartCommand } from "./consent.js";
export type { ConsoleFailure } from "./handle-request.js";
export type { TrafficEntry } from "./logs.js";
export type { ActivityView, ConsoleEvent } from "./observer.js";

/** What the page can request, by name. */
export type Actions = ReturnType<typeof createActions> & Programs["actions"];
export type ActionName = keyof Actions;
/** The value that an action returns. */
export type ActionValue<Name extends ActionName> = Awaited<ReturnType<Actions[Name]>>;

export type StateView = ActionValue<"state">;
export type ServerView = StateView["servers"][number];
export type HistoryView = ActionValue<"history">;
export type ServerHistoryView = HistoryView["servers"][string];
export type CatalogView = ActionValue<"catalog">;
export type ToolSummary = CatalogView["tools"][number];
export type ToolView = NonNullable<ActionValue<"tool">>;
export type AppView = ActionValue<"openApp">;
export type CallSummary = ActionValue<"calls">[number];
export type CallView = NonNullable<ActionValue<"call">>;
export type ProgressView = NonNullable<CallSummary["progress"]>;
export type TrafficView = NonNullable<ActionValue<"message">>;
export type TaskView = ActionValue<"tasks">[number];
export type ServerQuestionView = ActionValue<"questions">[number];
/** A question of a server to the user. */
export type QuestionView = ElicitationRequest & { readonly key: string };
export type Root = ActionValue<"roots">[number];
export type WaitingView = ActionValue<"waiting">[number];
export type LoginView = ActionValue<"logins">[number];
export type ProgramSummary = ActionValue<"programs">[number];
export type ProgramView = NonNullable<ActionValue<"program">>;
