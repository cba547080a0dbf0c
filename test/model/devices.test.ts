// The model test with today's apps: devices of each kind on the real routes, beside Open Podcast API apps.
import { afterAll, beforeAll, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { play, wholeWorld } from "../domain/device-world.ts";
import { PATIENCE, WAIT } from "../support/patience.ts";
import { examples } from "./device-examples.ts";
import { DeviceServer } from "./device-server.ts";
import { historyOf } from "./history.ts";
import { Processes } from "./processes.ts";

setDefaultTimeout(PATIENCE);

const RUNS = Number(process.env["PODKEEP_MODEL_RUNS"] ?? 200);
const numRuns = examples.length + Math.ceil(RUNS / 3);

let processes: Processes;
beforeAll(async () => {
  processes = await Processes.open();
});
afterAll(() => processes.close());

async function playWorlds(): Promise<void> {
  const property = fc.asyncProperty(wholeWorld, async (world) => {
    processes.restart();
    const user = await processes.test.user();
    const server = await DeviceServer.open(processes, user, historyOf(processes, user));
    await play(world, server, server);
  });
  await fc.assert(property, { numRuns, examples, timeout: WAIT });
}

test("every app ends with the server's list and places, and no change is lost", playWorlds, PATIENCE + numRuns * 1000);
