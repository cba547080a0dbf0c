// Routes of the history: list, put back, restore a list.
/** @jsxImportSource hono/jsx */
import type { Context, Hono } from "hono";
import { z } from "zod";
import type { App } from "../../app.ts";
import { parseDateTime } from "../../domain/date-time.ts";
import type { ChangedBy, HistoryPosition } from "../../domain/history.ts";
import { DomainError, isRefusal } from "../../errors.ts";
import { parseJson } from "../../json.ts";
import { type Actor, requireWrite } from "../../services/actor.ts";
import {
  previewRestore,
  putBack,
  readHistorySince,
  restoreSubscriptions,
} from "../../services/subscriptions/earlier-lists.ts";
import { findRemovers, listChangers, listHistory } from "../../services/subscriptions/history.ts";
import { keepRemovals } from "../../services/subscriptions/noticed-removals.ts";
import { findNameByGuid } from "../../services/subscriptions/podcasts.ts";
import type { HttpEnv } from "../env.ts";
import { waitInLine } from "../whole-lists.ts";
import { readForm } from "./form.ts";
import { type ChangeGroup, groupChanges } from "./history-groups.ts";
import { HistoryPage } from "./pages/history.tsx";
import { RestorePage } from "./pages/restore.tsx";
import { show } from "./render.tsx";
import { texts } from "./texts.ts";

/** Changes on one page. */
const PER_PAGE = 500;
/** Moments that are offered for a restore. */
const MOMENTS = 5;
const MINUTE = 60_000;

const By = z.object({
  kind: z.enum(["token", "session", "page", "admin", "worker"]),
  id: z.string().nullable(),
  label: z.string().nullable(),
  device: z.string().nullable(),
});
const number = z
  .string()
  .regex(/^\d{1,16}$/)
  .transform(Number);
const PutBackForm = { by: z.string().max(2000), from: number, to: number, podcast: z.string().optional() };
/** Minutes. */
const Zone = z
  .string()
  .regex(/^-?\d{1,4}$/)
  .transform(Number)
  .optional();
const RestoreForm = {
  as_of: z.string().max(40).optional(),
  before: number.optional(),
  zone: Zone,
  exact: z.string().optional(),
};

export function serveHistory(http: Hono<HttpEnv>, app: App): void {
  http.get("/history", async (c) => {
    const actor = c.get("actor");
    const by = c.req.query("by") || undefined;
    const guid = c.req.query("podcast")?.toLowerCase() || undefined;
    const after = readPosition(c.req.query("after"));
    const read = (last?: HistoryPosition) => listHistory(app, actor, { by, guid, after: last, limit: PER_PAGE });
    const page = await groupChanges(read, { after, size: PER_PAGE });
    const next = page.next && `${page.next.changed_at}.${page.next.seq}`;
    const notice =
      noticeOf(c.req.query("done"), texts.history.putBackDone) ??
      noticeOf(c.req.query("restored"), texts.history.restored);
    const podcast = guid === undefined ? undefined : { guid, name: (await findNameByGuid(app, actor, guid)) ?? guid };
    const props = {
      next,
      after,
      by,
      podcast,
      notice,
      changers: await listChangers(app, actor),
      removers: await findRemovers(app, actor, new Set(page.groups.flatMap(({ removed }) => [...removed]))),
    };
    return show(c, <HistoryPage groups={page.groups} {...props} />);
  });

  http.post("/history/put-back", waitInLine, async (c) => {
    const { by, podcast: guid, ...span } = await readForm(c, PutBackForm);
    const changes = await putBack(app, c.get("actor"), { by: readBy(by), guid, ...span });
    return c.redirect(`/history?done=${changes.length}`, 303);
  });

  http.post("/history/keep", async (c) => {
    const { to } = await readForm(c, { to: number });
    await keepRemovals(app, c.get("actor"), to);
    return c.redirect("/podcasts?kept=1", 303);
  });

  // The preview has its own page, to which the Back button leads.
  http.get("/history/restore", async (c) => {
    const query = c.req.query();
    if ("as_of" in query || "before" in query) {
      return restore(c, app, z.object(RestoreForm).safeParse(query).data ?? {}, true);
    }
    const actor = c.get("actor");
    requireWrite(actor);
    const props = { since: await readHistorySince(app, actor), moments: await listMoments(app, actor) };
    return show(c, <RestorePage {...props} />);
  });

  http.post("/history/restore", waitInLine, async (c) => restore(c, app, await readForm(c, RestoreForm), false));
}

type RestoreFields = z.infer<z.ZodObject<typeof RestoreForm>>;

/** Restores a list. @param dry_run true to show what would change */
async function restore(
  c: Context<HttpEnv>,
  app: App,
  { as_of = "", before, zone = 0, exact }: RestoreFields,
  dry_run: boolean,
): Promise<Response> {
  const actor = c.get("actor");
  const since = await readHistorySince(app, actor);
  const props = { as_of, before, zone, since, exact: exact !== undefined };
  const moment = before === undefined ? readTime(as_of, zone) : { before };
  if (moment === null) return show(c, <RestorePage {...props} problem={texts.history.badTime} />, 400);
  try {
    if (!dry_run) {
      const changes = await restoreSubscriptions(app, actor, moment, props.exact);
      const changed = new Set(changes.map(({ subscription }) => subscription));
      return c.redirect(`/history?restored=${changed.size}`, 303);
    }
    const { then, changes } = await previewRestore(app, actor, moment, props.exact);
    const at = "as_of" in moment ? moment.as_of : undefined;
    return show(c, <RestorePage {...props} preview={{ changes, count: then.length, at }} />);
  } catch (error) {
    if (!isRefusal(error, "invalid")) throw error;
    const isFuture = "as_of" in moment && moment.as_of >= since;
    const problem = isFuture ? texts.history.future : texts.history.tooEarly;
    return show(c, <RestorePage {...props} problem={problem} />, 400);
  }
}

/** The latest times at which podcasts were removed or lost: before each, the list may have been right. */
async function listMoments(app: App, actor: Actor): Promise<ChangeGroup[]> {
  const read = (after?: HistoryPosition) => listHistory(app, actor, { limit: PER_PAGE, after });
  const { groups } = await groupChanges(read, { size: PER_PAGE });
  return groups.filter(({ removed, lost }) => removed.size > 0 || lost > 0).slice(0, MOMENTS);
}

/** What was done to so many podcasts; null if the query has no number. */
const noticeOf = (count: string | undefined, text: (count: number) => string) =>
  /^\d{1,9}$/.test(count ?? "") ? text(Number(count)) : null;

/** A date is its end; null if the text is neither a date nor a time. */
function readTime(text: string, zone: number): { as_of: number } | null {
  const local = parseDateTime(text.length === 10 ? `${text}T23:59:59Z` : text);
  return local === null ? null : { as_of: local + zone * MINUTE };
}

function readPosition(text: string | undefined): HistoryPosition | undefined {
  const [, changed_at, seq] = /^(\d{1,15})\.(\d{1,6})$/.exec(text ?? "") ?? [];
  return changed_at && seq ? { changed_at: Number(changed_at), seq: Number(seq) } : undefined;
}

function readBy(text: string): ChangedBy {
  const by = By.safeParse(parseJson(text));
  if (!by.success) throw new DomainError("invalid", "The form is incomplete");
  return by.data;
}
