// The user, the device and the client that a request names.
import type { Context, MiddlewareHandler } from "hono";
import type { App } from "../../app.ts";
import { foldName } from "../../domain/user-name.ts";
import { DomainError } from "../../errors.ts";
import { RENAMED } from "../../services/accounts/sign-in.ts";
import { type Client, identifyClient } from "../../services/devices/clients.ts";
import { findDeviceOf, isDeviceId } from "../../services/devices/devices.ts";
import { appOfRequest } from "../apps.ts";
import type { HttpEnv } from "../env.ts";
import { nameDevice } from "../sign-in.ts";
import { productOf } from "../user-agent.ts";

/** How the last part of a path says its format. PinePods adds `.json` to a device's name that has it already. */
const EXTENSION = /(?<!\.json)(\.json)+$|\.(opml|txt)$/;

/** Every path of the API ends so. Patterns of routes don't have it: with them Hono's faster router gives up. */
const API = /^\/api\/.*[^/]\.json$/;

/** Makes a path without its format 404, and one of another user 400; names compare without case, and may end like a file. */
export const requireUserInPath: MiddlewareHandler<HttpEnv> = (c, next) => {
  if (c.req.path.startsWith("/api/") && !API.test(c.req.path)) throw new DomainError("not_found", "No such path");
  const named = foldName(c.req.param("user") ?? "");
  const name = foldName(c.get("userName"));
  if (named !== name && foldName(named.replace(EXTENSION, "")) !== name) {
    throw new DomainError("invalid", `The path names another user: ${RENAMED}`, { details: ["path: another user"] });
  }
  return next();
};

const NO_DEVICE_ID = "Not a device id: use ASCII letters, digits and _ . -";

/** Names the request's device. @param file the last part of the path */
export function nameDeviceOf(c: Context<HttpEnv>, file: string): string {
  const id = file.replace(EXTENSION, "");
  if (!isDeviceId(id)) throw new DomainError("invalid", NO_DEVICE_ID, { details: ["path: not a device id"] });
  nameDevice(c, id);
  return id;
}

/** The client of a request. @param file the last part of its path, which names the device; missing if the path has none */
export function clientOf(c: Context<HttpEnv>, file?: string): Client {
  if (file !== undefined) nameDeviceOf(c, file);
  return identifyClient(c.get("actor"), appOfRequest(c, "gpodder"));
}

/**
 * The client of a request whose path has no device; null if the password signs in and nothing names a device. An app that
 * keeps no cookies names its device elsewhere: it is the token's, if that has one only.
 * @param inBody the device that the body names; it counts before others
 */
export async function clientIfNamed(
  c: Context<HttpEnv>,
  app: App,
  inBody: string | null = null,
): Promise<Client | null> {
  const named = inBody ?? c.req.query("device");
  if (named !== undefined && isDeviceId(named)) nameDevice(c, named);
  else if (c.get("actor").device === null && productOf(c.req.raw) !== null) {
    const found = await findDeviceOf(app, c.get("actor"));
    if (found !== null) nameDevice(c, found);
  }
  const { kind, device } = c.get("actor");
  return kind === "token" || device !== null ? clientOf(c) : null;
}
