// Notes requests of apps that were refused, for `podkeep device list`.
import type { Context } from "hono";
import type { App } from "../app.ts";
import { DomainError } from "../errors.ts";
import { createRefusalLog } from "../services/devices/refusals.ts";
import type { HttpEnv } from "./env.ts";
import { reasonWithoutSecrets } from "./request-log.ts";
import { productOf } from "./user-agent.ts";

/** Paths of apps, and the device in them. */
const PATHS =
  /^\/(?:api\/2\/(?:\w+\/[^/]+\/)?|api\/v1\/|auth\/|subscriptions\/?(?:[^/]+\/)?|index\.php\/apps\/|apps\/gpoddersync\/|ocs\/)/;
const DEVICE =
  /^\/(?:api\/2\/(?!auth)\w+|subscriptions)\/[^/]+\/([\w.-]+?)(?<!\.(?:json|opml|txt))(?:\.(?:json|opml|txt))+$/;
/** Statuses that are no answer to a question: 404 is. */
const REFUSED = [400, 401, 403, 413, 429];

export function createRefusalNotes(app: App): (c: Context<HttpEnv>) => void {
  const note = createRefusalLog(app);
  return (c) => {
    const { status } = c.res;
    if (!REFUSED.includes(status) || !PATHS.test(c.req.path)) return;
    const inner = c.get("inner") ?? c;
    const error = inner.error ?? c.error;
    const actor = inner.get("actor");
    const subject = error instanceof DomainError ? error.extras.subject : undefined;
    note(
      {
        ...subject,
        ...(actor && { user_id: actor.user_id }),
        ...(actor?.kind === "token" && actor.id !== null && { token: actor.id }),
      },
      {
        device: actor?.device ?? DEVICE.exec(c.req.path)?.[1] ?? null,
        reason: `${status} ${reasonWithoutSecrets(error) ?? "refused"}`,
        app: productOf(c.req.raw),
      },
    );
  };
}
