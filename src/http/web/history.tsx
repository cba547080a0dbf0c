// Routes of the history: list, put back, restore a list.
/** @jsxImportSource hono/jsx */
import type { Context, Hono } from "hono";
import { z } from "zod";
import type { App } from "../../app.ts";
import { parseDateTime } from "../../domain/date-time.ts";
import { DomainError } from "../../errors.ts";
import {
  type ChangedBy,
  type HistoryPosition,
  listHistory,
  listMassRemovals,
  listSubscribedAt,
  type MassRemoval,
  putBack,
  restoreSubscriptions,
} from "../../services/history.ts";
import type { HttpEnv } from "../env.ts";
import { readForm } from "./form.ts";
import { groupChanges } from "./history-groups.ts";
import { HistoryPage, RestorePage } from "./pages/history.tsx";
import { show } from "./render.ts";
import { texts } from "./texts.ts";

/** Changes on one page. */
const PER_PAGE = 500;
const DAY = 24 * 60 * 60 * 1000;
/** How long the banner speaks of a mass removal, in milliseconds. */
const BANNER = 14 * DAY;

const By = z.object({
  kind: z.enum(["token", "session", "admin", "worker"]),
  id: z.string().nullable(),
  label: z.string().nullable(),
  device: z.string().nullable(),
});
const number = z
  .string()
  .regex(/^\d{1,16}$/)
  .transform(Number);
const PutBackForm = { by: z.string().max(2000), from: number, to: number };
const RestoreForm = { as_of: z.string().max(40), exact: z.string().optional(), confirmed: z.string().optional() };

/** The mass removals that the banner shows above the podcasts. */
export const recentRemovals = (app: App, c: Context<HttpEnv>): Promise<MassRemoval[]> =>
  listMassRemovals(app, c.get("actor"), app.clock.now() - BANNER);

export function serveHistory(http: Hono<HttpEnv>, app: App): void {
  http.get("/history", async (c) => {
    const by = c.req.query("by") || undefined;
    const after = readPosition(c.req.query("after"));
    const changes = await listHistory(app, c.get("actor"), {
      limit: PER_PAGE + 1,
      ...(by !== undefined && { by }),
      ...(after && { after }),
    });
    const page = changes.slice(0, PER_PAGE);
    const last = changes.length > PER_PAGE ? page.at(-1) : undefined;
    const next = last ? `${last.changed_at}.${last.seq}` : null;
    const canWrite = c.get("actor").scope === "write";
    const done = /^\d+$/.exec(c.req.query("done") ?? "")?.[0];
    const notice = done === undefined ? null : texts.history.putBackDone(Number(done));
    return show(c, <HistoryPage groups={groupChanges(page)} next={next} by={by ?? null} {...{ canWrite, notice }} />);
  });

  http.post("/history/put-back", async (c) => {
    const { by, from, to } = await readForm(c, PutBackForm);
    const changes = await putBack(app, c.get("actor"), { by: readBy(by), from, to });
    return c.redirect(`/history?done=${changes.length}`, 303);
  });

  http.get("/history/restore", (c) => show(c, <RestorePage as_of={c.req.query("as_of") ?? ""} />));

  // Shows what would change; with `confirmed` changes it.
  http.post("/history/restore", async (c) => {
    const { as_of, exact, confirmed } = await readForm(c, RestoreForm);
    const moment = parseDateTime(as_of.length === 10 ? `${as_of}T23:59:59Z` : as_of);
    const props = { as_of, exact: exact !== undefined };
    if (moment === null) return show(c, <RestorePage {...props} problem={texts.history.badTime} />, 400);
    const actor = c.get("actor");
    try {
      const options = { exact: props.exact, dry_run: confirmed === undefined };
      const changes = await restoreSubscriptions(app, actor, { as_of: moment }, options);
      if (confirmed !== undefined) return c.redirect(`/history?done=${changes.length}`, 303);
      const then = (await listSubscribedAt(app, actor, { as_of: moment })).length;
      return show(c, <RestorePage {...props} preview={{ changes, then }} />);
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== "invalid") throw error;
      return show(c, <RestorePage {...props} problem={error.message} />, 400);
    }
  });
}

function readPosition(text: string | undefined): HistoryPosition | null {
  const [, changed_at, seq] = /^(\d{1,16})\.(\d{1,6})$/.exec(text ?? "") ?? [];
  return changed_at && seq ? { changed_at: Number(changed_at), seq: Number(seq) } : null;
}

function readBy(text: string): ChangedBy {
  const by = z
    .string()
    .transform((json, context) => {
      try {
        return JSON.parse(json);
      } catch {
        context.addIssue("not JSON");
        return z.NEVER;
      }
    })
    .pipe(By)
    .safeParse(text);
  if (!by.success) throw new DomainError("invalid", "The form is incomplete");
  return by.data;
}
