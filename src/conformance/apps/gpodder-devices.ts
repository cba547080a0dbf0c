// What apps demand of devices of the gPodder API.
import { z } from "zod";
import { expect, expectEqual } from "../expect.ts";
import { requireOk, type SyncClient } from "./client.ts";
import type { Demand } from "./demand.ts";

const Device = z.looseObject({ id: z.string(), caption: z.string().nullish(), type: z.string().nullish() });
/** AntennaPod needs all of it. */
const CompleteDevice = Device.extend({ caption: z.string(), type: z.string(), subscriptions: z.number().int() });

const describe = ({ request, paths }: SyncClient, body: object) => request("POST", paths.device, body);
async function listDevices<T>(client: SyncClient, shape: z.ZodType<T>): Promise<T[]> {
  return requireOk(await client.request("GET", client.paths.devices)).json(z.array(shape));
}

export const gpodderDeviceDemands: Demand[] = [
  {
    key: "devices/a-device-that-syncs-is-listed",
    says: "A device that was described is in the list, with its caption and type",
    source: "gPodder API, Devices; AntennaPod needs id, caption, type and subscriptions",
    level: "MUST",
    async run(prober, client) {
      requireOk(await describe(client, { caption: "A check", type: "mobile" }));
      // What other checks left there is not what this one is about.
      const isOurs = (one: unknown) => Device.safeParse(one).data?.id.includes(prober.id) ?? false;
      const Ours = z
        .array(z.unknown())
        .transform((all) => all.filter(isOurs))
        .pipe(z.array(CompleteDevice));
      const answer = requireOk(await client.request("GET", client.paths.devices));
      const found = answer.json(Ours).find(({ id }) => id === client.device);
      expectEqual("caption and type", [found?.caption, found?.type], ["A check", "mobile"]);
    },
  },
  {
    key: "devices/an-update-keeps-the-rest",
    says: "A description with a new caption alone changes the caption and keeps the type",
    source: "gPodder API, Devices: only the values that are sent are changed",
    level: "SHOULD",
    async run(_prober, client) {
      requireOk(await describe(client, { caption: "A check", type: "laptop" }));
      requireOk(await describe(client, { caption: "Another name" }));
      const found = (await listDevices(client, Device)).find(({ id }) => id === client.device);
      expectEqual("caption and type", [found?.caption, found?.type], ["Another name", "laptop"]);
    },
  },
  {
    key: "devices/description-has-an-empty-response",
    says: "The response to a description of a device is empty",
    source: "mygpoclient takes any text for a failure",
    level: "SHOULD",
    async run(_prober, client) {
      expectEqual("the response", (await describe(client, { caption: "A check", type: "other" })).text, "");
    },
  },
  {
    key: "devices/the-list-is-not-empty",
    says: "An account with subscriptions has a device in its list",
    source: "PinePods reads the subscriptions of each device that is listed, and of no other",
    level: "MUST",
    async run(prober, client) {
      await client.sendFeeds([prober.feed()], []);
      expect("The list of devices is empty", (await listDevices(client, Device)).length > 0);
    },
  },
  {
    key: "devices/sync-devices",
    says: "The groups of devices that sync are there, as lists of ids",
    source: "gPodder API, Device Synchronization; Kasts",
    level: "SHOULD",
    async run(_prober, client) {
      const answer = requireOk(await client.request("GET", client.paths.syncDevices));
      const ids = z.array(z.string());
      answer.json(z.looseObject({ synchronized: z.array(ids), "not-synchronized": ids }));
    },
  },
];
