// The route of the change feed.
import { createRoute } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { App } from "../../app.ts";
import { parseDateTime } from "../../domain/date-time.ts";
import { isRefusal } from "../../errors.ts";
import { listChanges } from "../../services/subscriptions/change-feed.ts";
import { closeWalk, findPageEnd, savePageEnd } from "../../services/subscriptions/page-ends.ts";
import { requireToken } from "../bearer.ts";
import type { HttpEnv } from "../env.ts";
import type { Api } from "../openapi.ts";
import type { Shared } from "../shared.ts";
import { waitIfLarge } from "../whole-lists.ts";
import { conditional, setETag } from "./etag.ts";
import { conditionalBody, describeErrors, notModified, reads } from "./openapi.ts";
import { readCursor, SubscriptionQuery, Subscriptions, writeCursor } from "./schemas/subscriptions.ts";
import { writePage } from "./wire.ts";

const DEFAULT_PER_PAGE = 50;

export function serveChangeFeed(api: Api, app: App, shared: Shared): void {
  const { max_per_page } = app.config;
  const { forwarded } = shared;
  const limit = (per_page = DEFAULT_PER_PAGE) => Math.min(per_page, max_per_page);
  // After a 304 the app still has its cached page, so remember where that page ended. No validation here: a bad value only
  // produces a key that is never looked up.
  const readPage = conditional(forwarded, async (c, [next = "", , last = ""]) => {
    const end = readCursor(next || last);
    const [since, per_page, page] = ["since", "per_page", "page"].map((name) => c.req.query(name) || undefined);
    const number = {
      since: since ? parseDateTime(since) : null,
      per_page: limit(per_page ? Number(per_page) : undefined),
      page: page ? Number(page) : 1,
    };
    const isLast = next === "" && givesPage(c);
    if (end && !c.req.query("cursor"))
      await noteWalk(c, () => savePageEnd(app, c.get("actor"), number, { ...end, isLast }));
  });

  api.openapi(
    createRoute({
      ...reads({
        operationId: "getSubscriptions",
        summary: "Retrieve the subscriptions that changed since a timestamp",
        description:
          "The change feed, oldest change first, page by page. Follow `next` until a page has none; then the latest timestamp of all items is the next `since`. Deleted subscriptions stay in it, with `deleted`.",
      }),
      path: "/subscriptions",
      middleware: [requireToken(app, shared, "read"), readPage, waitIfLarge("per_page")],
      request: { query: SubscriptionQuery },
      responses: {
        200: conditionalBody("A page of the change feed", Subscriptions),
        ...notModified,
        ...describeErrors("unauthorized", "invalid"),
      },
    }),
    async (c) => {
      const { since = null, cursor = null, ...query } = c.req.valid("query");
      const { page = 1 } = query;
      const per_page = limit(query.per_page);
      const number = { since, per_page, page };
      const actor = c.get("actor");
      const remembered = cursor ? null : await findPageEnd(app, actor, number);
      const changes = await listChanges(app, actor, { ...number, after: cursor ?? remembered }, c.get("clock"));
      const { end } = changes;
      const isLast = changes.next === null;
      const counted = !cursor && (query.page !== undefined || !isLast) ? end : null;
      const endsWalk = isLast && givesPage(c);
      if (counted) await noteWalk(c, () => savePageEnd(app, actor, number, { ...counted, isLast: endsWalk }));
      if (cursor && endsWalk) await noteWalk(c, () => closeWalk(app, actor, number));
      const next = changes.next && writeCursor(changes.next);
      const start = remembered && writeCursor(remembered);
      // Of a last page the end is a mark too: an app that counts on asks for the page after it.
      const last = isLast ? counted && writeCursor(counted) : null;
      const marks = [next, start, last].map((mark) => mark ?? "");
      setETag(c, changes.clock, marks.some(Boolean) ? marks : []);
      const asked = { url: forwarded.baseUrlOf(c) + c.req.path, since: c.req.query("since"), page, per_page };
      return c.json(writePage(changes, asked, next), 200);
    },
  );
}

/** HEAD gives none, so nobody has read the last one. */
const givesPage = (c: Context<HttpEnv>) => c.req.raw.method !== "HEAD";

async function noteWalk(c: Context<HttpEnv>, note: () => Promise<void>): Promise<void> {
  try {
    await note();
  } catch (error) {
    // Only an app that counts pages needs it; the others can read while nothing can be written.
    const counts = c.req.query("page") && !c.req.query("cursor");
    if (counts || !isRefusal(error, "unavailable")) throw error;
  }
}
