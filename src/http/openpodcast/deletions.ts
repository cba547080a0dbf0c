// The route of deletions.
import { createRoute, type OpenAPIHono } from "@hono/zod-openapi";
import { z } from "zod";
import type { App } from "../../app.ts";
import { getDeletion } from "../../services/deletions.ts";
import type { HttpEnv } from "../env.ts";
import { answerUnlessSeen } from "./etag.ts";
import type { Guards } from "./guards.ts";
import { describeErrors, jsonBody, notModified, reads } from "./openapi.ts";
import { positive } from "./schemas/common.ts";
import { Deletion } from "./schemas/deletions.ts";

const params = z.object({
  id: positive.meta({
    type: "integer",
    minimum: 1,
    description: "The deletion_id that DELETE answered with",
    example: 1,
  }),
});

/** Serves deletions on `api`. */
export function serveDeletions(api: OpenAPIHono<HttpEnv>, app: App, { read }: Guards): void {
  api.openapi(
    createRoute({
      ...reads("getDeletion", "Read the outcome of a deletion"),
      path: "/deletions/{id}",
      middleware: [read],
      request: { params },
      responses: {
        200: jsonBody("The deletion", Deletion),
        ...notModified,
        ...describeErrors("unauthorized", "not_found", "invalid"),
      },
    }),
    (c) =>
      answerUnlessSeen(
        c,
        "",
        () => getDeletion(app, c.get("identity").user_id, c.req.valid("param").id),
        (deletion) => c.json(deletion, 200),
      ),
  );
}
