// Routes to log in with name and password, and to refresh access tokens.
import { createRoute } from "@hono/zod-openapi";
import type { App } from "../../app.ts";
import { type Login, logIn, refreshLogin } from "../../services/accounts/login-tokens.ts";
import { refuseCrossSite } from "../cross-site.ts";
import { requireJson } from "../json-body.ts";
import { type Api, sentBody } from "../openapi.ts";
import { attemptsOf, type Shared } from "../shared.ts";
import { productOf } from "../user-agent.ts";
import { describeErrors, jsonBody, NO_TOKEN } from "./openapi.ts";
import { LoginRequest, LoginResponse, RefreshRequest } from "./schemas.ts";
import { writeTime } from "./wire.ts";

/** Bytes; enough for a name and a password. */
const MOST_BODY = 16 * 1024;

export function serveLogin(api: Api, app: App, shared: Shared): void {
  // Passwords are not for pages of other sites, which could guess them from their visitors' addresses.
  const middleware = [refuseCrossSite(shared, { page: false }), requireJson({ ...app.config, max_body: MOST_BODY })];

  api.openapi(
    createRoute({
      method: "post",
      ...NO_TOKEN,
      operationId: "login",
      tags: ["Authentication"],
      summary: "Log in",
      path: "/auth/login",
      middleware,
      request: sentBody(LoginRequest),
      responses: {
        200: jsonBody("An access token, and a token to refresh it", LoginResponse),
        ...describeErrors("invalid", "unauthorized", "forbidden", "too_large"),
      },
    }),
    async (c) => {
      const { username, password } = c.req.valid("json");
      const credentials = { name: username, password, app: productOf(c.req.raw) };
      return c.json(writeLogin(await logIn(app, credentials, attemptsOf(c, shared))), 200);
    },
  );

  api.openapi(
    createRoute({
      method: "post",
      ...NO_TOKEN,
      operationId: "refreshToken",
      tags: ["Authentication"],
      summary: "Refresh an access token",
      path: "/auth/refresh",
      middleware,
      request: sentBody(RefreshRequest),
      responses: {
        200: jsonBody("Another access token, and the next refresh token", LoginResponse),
        ...describeErrors("invalid", "unauthorized", "forbidden", "too_large"),
      },
    }),
    async (c) => {
      const { refresh_token } = c.req.valid("json");
      return c.json(writeLogin(await refreshLogin(app, refresh_token, attemptsOf(c, shared))), 200);
    },
  );
}

const writeLogin = ({ access_token, access_time, refresh_token, refresh_expires }: Login): LoginResponse => ({
  access_token,
  expires_in: access_time / 1000,
  refresh_token,
  refresh_expires: writeTime(refresh_expires),
  refresh_endpoint: "/auth/refresh",
});
