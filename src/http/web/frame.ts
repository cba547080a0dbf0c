// What every page of a signed-in user shows around its content.
import { createContext, useContext } from "hono/jsx";
import type { App } from "../../app.ts";
import type { Actor } from "../../services/actor.ts";
import { listDevices } from "../../services/devices/devices.ts";
import { listMassRemovals } from "../../services/subscriptions/noticed-removals.ts";
import type { Frame } from "../env.ts";

/** Of a visitor who is not signed in: there is no menu. */
export const EMPTY: Frame = {
  user: "",
  removals: [],
  devices: new Map(),
  canWrite: false,
  byPassword: false,
  typed: {},
};
export const FrameContext = createContext(EMPTY);
export const useFrame = () => useContext(FrameContext);

/** How long the banner speaks of a mass removal, in milliseconds. */
const BANNER = 14 * 24 * 60 * 60 * 1000;

/** Reads what the frame of an actor shows. If the database can't be read, the page is shown without it. */
export async function readFrame(app: App, actor: Actor): Promise<Pick<Frame, "removals" | "devices">> {
  try {
    const removals = await listMassRemovals(app, actor, app.clock.now() - BANNER);
    const devices = await listDevices(app, actor);
    return { removals, devices: new Map(devices.map((device) => [device.id, device])) };
  } catch {
    return EMPTY;
  }
}
