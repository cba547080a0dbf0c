// Routes of devices, and of their synchronization.
import type { Hono } from "hono";
import { z } from "zod";
import type { App } from "../../app.ts";
import { DEVICE_TYPES } from "../../domain/device-types.ts";
import { countFeeds } from "../../services/devices/device-list.ts";
import { listDevices, saveDevice } from "../../services/devices/devices.ts";
import type { HttpEnv } from "../env.ts";
import { sendNothing } from "../response-body.ts";
import { readJson } from "../sync-requests.ts";
import { productOf } from "../user-agent.ts";
import { nameDeviceOf, requireUserInPath } from "./client.ts";

const Device = z.object({
  caption: z.string().nullish().catch(null),
  type: z.enum(DEVICE_TYPES).nullish().catch(null),
});

/** PinePods sends no product name. It reads the list of each device that the server names, so the server always names one. */
const NO_DEVICE = { id: "podkeep", caption: "podkeep", type: "server" };

export function serveDevices(http: Hono<HttpEnv>, app: App): void {
  http.get("/api/2/devices/:user", requireUserInPath, async (c) => {
    const actor = c.get("actor");
    const devices = await listDevices(app, actor);
    const subscriptions = await countFeeds(app, actor);
    const listed = devices.length > 0 || productOf(c.req.raw) !== null ? devices : [NO_DEVICE];
    return c.json(listed.map(({ id, caption, type }) => ({ id, caption, type, subscriptions })));
  });

  // mygpoclient before 1.1 and podliner send PUT.
  http.on(["POST", "PUT"], "/api/2/devices/:user/:device", requireUserInPath, async (c) => {
    const id = nameDeviceOf(c, c.req.param("device"));
    const { caption, type } = await readJson(c, app, Device);
    const device = { id, caption: caption ?? undefined, type: type ?? undefined };
    await saveDevice(app, c.get("actor"), device, productOf(c.req.raw));
    return sendNothing(c);
  });

  // All devices have one list. An app that is offered others uploads its list for each of them.
  http.on(["GET", "POST"], "/api/2/sync-devices/:user", requireUserInPath, (c) =>
    c.json({ synchronized: [], "not-synchronized": [] }),
  );
}
