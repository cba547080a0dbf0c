// The route of deletions.
import { createRoute } from "@hono/zod-openapi";
import { z } from "zod";
import type { App } from "../../app.ts";
import { positive } from "../../domain/positive.ts";
import { type Deletion as DeletionRow, getDeletion } from "../../services/subscriptions/deletions.ts";
import { requireToken } from "../bearer.ts";
import type { Api } from "../openapi.ts";
import type { Shared } from "../shared.ts";
import { conditional, setETag } from "./etag.ts";
import { conditionalBody, describeErrors, notModified, reads } from "./openapi.ts";
import { Deletion, MESSAGES } from "./schemas/deletions.ts";

const params = z.object({
  id: positive.meta({
    type: "integer",
    minimum: 1,
    description: "The `deletion_id` in the response to DELETE",
    example: 1,
  }),
});

export function serveDeletions(api: Api, app: App, shared: Shared): void {
  api.openapi(
    createRoute({
      ...reads({
        operationId: "getDeletions",
        summary: "Retrieve the status of a deletion",
        description:
          "PENDING is not done yet. SUCCESS is deleted. FAILURE was cancelled, because the subscription was added again, or failed for good; the message says why.",
      }),
      path: "/deletions/{id}",
      middleware: [requireToken(app, shared, "read"), conditional(shared.forwarded)],
      request: { params },
      responses: {
        200: conditionalBody("The deletion", Deletion),
        ...notModified,
        ...describeErrors("unauthorized", "not_found", "invalid"),
      },
    }),
    async (c) => {
      const deletion = await getDeletion(app, c.get("actor"), c.req.valid("param").id);
      setETag(c, deletion.clock);
      return c.json(writeDeletion(deletion), 200);
    },
  );
}

function writeDeletion({ id, status, reason }: DeletionRow): Deletion {
  const detail = status === "FAILURE" && reason !== null ? `: ${reason}` : "";
  return { deletion_id: id, status, message: MESSAGES[status] + detail };
}
