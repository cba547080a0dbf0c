// The route that says which interfaces are served: pull request 133 of OpenPodcastAPI/api-specs.
import { createRoute } from "@hono/zod-openapi";
import type { Api } from "../openapi.ts";
import type { Shared } from "../shared.ts";
import { COMMIT, describeErrors, jsonBody, NO_TOKEN } from "./openapi.ts";
import { Capabilities } from "./schemas.ts";

/** Versions of the published text, and of the draft: both call themselves 0.1.0. */
const PUBLISHED = "0.1.0";
const DRAFT = `0.2.0-draft.${COMMIT}`;

export function serveCapabilities(api: Api, { forwarded }: Shared): void {
  const { basePath } = forwarded;
  const features = {
    "urn:opa:core": {
      [PUBLISHED]: { status: "STABLE" as const, root: `${basePath}/v1` },
      [DRAFT]: { status: "UNSTABLE" as const, root: `${basePath}/api/v1` },
    },
  };
  api.openapi(
    createRoute({
      method: "get",
      ...NO_TOKEN,
      operationId: "getCapabilities",
      tags: ["Capabilities"],
      summary: "Read which versions of the interface are served, and where",
      path: "/v1/capabilities",
      responses: { 200: jsonBody("By feature and version", Capabilities), ...describeErrors() },
    }),
    (c) => c.json({ ...features, capabilities: features }, 200),
  );
}
