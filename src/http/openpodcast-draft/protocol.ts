// The draft of the next Open Podcast API (docs/open-podcast-draft.md).
import type { Hono } from "hono";
import type { App } from "../../app.ts";
import { once } from "../../once.ts";
import { allowAnyOrigin, EXPOSED } from "../cors.ts";
import type { HttpEnv } from "../env.ts";
import { refuseUnknown, respondToErrors } from "../errors.ts";
import { noStore } from "../no-store.ts";
import { createApi } from "../openapi.ts";
import type { Shared } from "../shared.ts";
import { serveCapabilities } from "./capabilities.ts";
import { respondToError } from "./errors.ts";
import { serveLogin } from "./login.ts";
import { COMMIT, describeDraft, registerComponents } from "./openapi.ts";
import { serveSubscriptions } from "./subscriptions.ts";
import { serveSync } from "./sync.ts";

const VERSION_HEADER = "Open-Podcast-Draft";

export function serveDraft(http: Hono<HttpEnv>, app: App, shared: Shared): void {
  const api = createApi();
  http.use(noStore, async (c, next) => {
    await next();
    c.res.headers.set(VERSION_HEADER, COMMIT);
  });
  const cors = allowAnyOrigin("GET,HEAD,POST", "Authorization,Client-ID,Content-Type", `${EXPOSED},${VERSION_HEADER}`);
  for (const path of ["/api/v1/*", "/v1/capabilities", "/openapi-draft.json"]) http.use(path, cors);
  serveLogin(api, app, shared);
  serveSync(api, app, shared);
  serveSubscriptions(api, app, shared);
  serveCapabilities(api, shared);
  registerComponents(api);
  const document = once(() => api.getOpenAPI31Document(describeDraft(shared.forwarded.basePath)));
  api.get("/openapi-draft.json", (c) => c.json(document()));
  http.route("/", api);
  http.notFound((c) => respondToError(refuseUnknown(http, c), c));
  respondToErrors(http, app.log, respondToError);
}
