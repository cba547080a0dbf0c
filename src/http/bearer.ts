// Bearer authentication (RFC 6750).
import { createMiddleware } from "hono/factory";
import type { App } from "../app.ts";
import { CLIENT, DOCTOR, writeClient } from "../domain/doctor-headers.ts";
import { DomainError, isRefusal } from "../errors.ts";
import { authenticate, type TokenActor } from "../services/accounts/tokens.ts";
import { type Actor, requireWrite, type Scope } from "../services/actor.ts";
import type { HttpEnv } from "./env.ts";
import { attemptsOf, type Shared } from "./shared.ts";

/**
 * Sets the actor of a request by its token, and the user's clock if it is a token of podkeep's; too many refused tokens
 * from one address are 429.
 * @param scope "write" refuses a token that may only read before the body is read; the services refuse it anyway
 * @param find gives the actor of a token
 */
export function requireToken(
  app: App,
  shared: Shared,
  scope: Scope,
  find: (app: App, token: string) => Promise<Actor | TokenActor> = authenticate,
) {
  return createMiddleware<HttpEnv>(async (c, next) => {
    const refuse = (error: unknown): never => {
      if (!isRefusal(error, "unauthorized")) throw error;
      app.metrics?.unauthorized(error.message);
      // Any web page can send requests without credentials from its visitor's address: they guess nothing.
      if (c.req.raw.headers.has("authorization") && error.extras.challenge !== "insufficient_scope") {
        attemptsOf(c, shared).failToken(error.extras.subject);
      }
      throw error;
    };
    try {
      const token = bearerOf(c.req.raw);
      const actor = await find(app, token);
      c.set("actor", actor);
      c.set("checkAgain", () => find(app, token).catch(refuse));
      if ("clock" in actor) c.set("clock", actor.clock);
      if (scope === "write") requireWrite(actor);
      if (c.req.raw.headers.has(DOCTOR)) {
        c.header(CLIENT, writeClient(shared.forwarded.describeClient(c)));
      }
    } catch (error) {
      refuse(error);
    }
    await next();
  });
}

// Two Authorization headers arrive joined by a comma, which no token contains.
function bearerOf(request: Request): string {
  const header = request.headers.get("authorization");
  if (header === null) throw new DomainError("unauthorized", "No credentials");
  const token = /^bearer +([^\s,]+)$/i.exec(header)?.[1];
  if (!token) throw new DomainError("unauthorized", "Not one bearer token", { challenge: "invalid_request" });
  return token;
}
